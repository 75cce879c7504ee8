import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { type Clock, systemClock } from '../../../core/time/clock';
import type { JobCapabilities } from '../../contract/media-job';
import { ModelProvider } from '../../contract/model-provider.decorator';
import type { Provider, ProviderDefinition } from '../../contract/provider';
import { CancelableMockJobs, type JobProviderOptions, JobStore, MockJobs, MockMusicSync } from './mock-jobs';
import { MockSpeech, MockTranscription } from './mock-audio';
import { MockChat } from './mock-chat';
import { MockEmbeddings } from './mock-embeddings';
import { MockImages } from './mock-images';

type Capable = Omit<Provider, 'id' | 'capabilities' | 'quirks' | 'simulated' | 'drain' | 'close'>;

const ALL_CAPABILITIES: JobCapabilities = {
  cancel: 'always',
  progress: true,
  idempotentSubmit: true,
  outputTtlSeconds: 3_600,
  pollMs: [500, 1_000],
};
const NO_CAPABILITIES: JobCapabilities = {
  ...ALL_CAPABILITIES,
  cancel: 'never',
  progress: false,
  idempotentSubmit: false,
};

/**
 * A provider inside the process, for new users, tests and quick load tests: it needs no key and no network, answers
 * plausibly and deterministically, and fails on request (README). Routing and endpoints get the same results and errors
 * as from a real upstream behind a dialect.
 */
@ModelProvider()
export class MockProvider implements ProviderDefinition {
  readonly id = 'mock';
  readonly credentials = [];

  create({ MOCK_PROVIDER: setting }: ProviderEnvironment, clock: Clock = systemClock): Provider | null {
    if (setting === 'false' || setting === '0') return null;
    return createProvider(this.id, {
      chat: new MockChat(clock),
      embeddings: new MockEmbeddings(clock),
      images: new MockImages(clock),
      speech: new MockSpeech(clock),
      transcription: new MockTranscription(clock),
    });
  }
}

/** Video and music inside the process. Three providers, since job handling depends on the provider's capabilities. */
abstract class MockJobProvider implements ProviderDefinition {
  readonly credentials = [];

  constructor(
    readonly id: string,
    private readonly capabilities: JobCapabilities,
    private readonly createAdapters: (options: JobProviderOptions) => Capable,
  ) {}

  create(environment: ProviderEnvironment, clock: Clock = systemClock): Provider | null {
    const { MOCK_MEDIA_PROVIDER: setting, MOCK_MEDIA_DIR: path } = environment;
    if (setting !== 'true' || path === undefined) return null;
    const { id, capabilities } = this;
    return createProvider(id, this.createAdapters({ id, capabilities, store: new JobStore(path), clock }));
  }
}

@ModelProvider()
export class MockMediaProvider extends MockJobProvider {
  constructor() {
    super('mock-media', ALL_CAPABILITIES, (options) => {
      const jobs = new CancelableMockJobs(options);
      return { video: jobs, music: jobs };
    });
  }
}

@ModelProvider()
export class MockMediaBasicProvider extends MockJobProvider {
  constructor() {
    super('mock-media-basic', NO_CAPABILITIES, (options) => ({ video: new MockJobs(options) }));
  }
}

@ModelProvider()
export class MockMediaSyncProvider extends MockJobProvider {
  constructor() {
    super('mock-media-sync', NO_CAPABILITIES, (options) => ({ music: new MockMusicSync(options) }));
  }
}

function createProvider(id: string, capable: Capable): Provider {
  const capabilities = {
    chat: capable.chat !== undefined,
    completions: false,
    embeddings: capable.embeddings !== undefined,
    images: capable.images !== undefined,
    speech: capable.speech !== undefined,
    transcription: capable.transcription !== undefined,
    video: capable.video !== undefined,
    music: capable.music !== undefined,
  };
  const quirks = { imageUrls: false };
  return { id, capabilities, quirks, ...capable, simulated: true, close: () => Promise.resolve() };
}

@Module({ providers: [MockProvider, MockMediaProvider, MockMediaBasicProvider, MockMediaSyncProvider] })
export class MockModule {}
