import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { NO_CAPABILITIES, type Provider, type ProviderDefinition } from '../../contract/provider';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';
import { DeepgramSpeech } from './deepgram-speech';
import { DeepgramTranscription } from './deepgram-transcription';

const API_KEY = 'DEEPGRAM_API_KEY';
const BASE_URL = 'DEEPGRAM_BASE_URL';
const DEFAULT_BASE_URL = 'https://api.deepgram.com/v1';

/** Deepgram (https://developers.deepgram.com/reference). */
@ModelProvider()
export class DeepgramProvider implements ProviderDefinition {
  readonly id = 'deepgram';
  readonly credentials = [API_KEY, BASE_URL];

  create(environment: ProviderEnvironment): Provider | null {
    const apiKey = environment[API_KEY];
    if (apiKey === undefined) return null;
    const http = new UpstreamHttp({
      baseUrl: parseBaseUrl(environment[BASE_URL] ?? DEFAULT_BASE_URL, BASE_URL),
      headers: { authorization: `Token ${apiKey}` },
    });
    return {
      id: this.id,
      capabilities: { ...NO_CAPABILITIES, speech: true, transcription: true },
      quirks: {},
      speech: new DeepgramSpeech(http),
      transcription: new DeepgramTranscription(http),
      drain: () => http.drain(),
      close: () => http.close(),
    };
  }
}

@Module({ providers: [DeepgramProvider] })
export class DeepgramModule {}
