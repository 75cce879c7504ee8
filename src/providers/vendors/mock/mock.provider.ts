import { systemClock, type Clock } from '../../../core/time/clock';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import type { Provider, ProviderDefinition } from '../../contract/provider';
import { MockChat } from './mock-chat';
import { MockEmbeddings } from './mock-embeddings';
import { MockImages } from './mock-images';
import { MockSpeech } from './mock-speech';
import { MockTranscription } from './mock-transcription';

/**
 * A provider inside the process, for new users, tests and quick load tests: it needs no key and no network, answers
 * plausibly and deterministically, and fails on request (README). Router and edge get the same results and errors as
 * from a real upstream behind a dialect.
 */
@ModelProvider()
export class MockProvider implements ProviderDefinition {
  readonly id = 'mock';
  readonly credentials = [];

  create(environment: ProviderEnvironment, clock: Clock = systemClock): Provider | null {
    return isSwitchedOff(environment) ? null : createProvider(clock);
  }
}

function isSwitchedOff({ MOCK_PROVIDER: setting }: ProviderEnvironment): boolean {
  return setting === 'false' || setting === '0';
}

function createProvider(clock: Clock): Provider {
  return {
    id: 'mock',
    capabilities: {
      chat: true,
      completions: false,
      embeddings: true,
      images: true,
      speech: true,
      transcription: true,
      video: false,
      music: false,
    },
    quirks: { imageUrls: false },
    chat: new MockChat(clock),
    embeddings: new MockEmbeddings(clock),
    images: new MockImages(clock),
    speech: new MockSpeech(clock),
    transcription: new MockTranscription(clock),
    simulated: true,
    close: () => Promise.resolve(),
  };
}
