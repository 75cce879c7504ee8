import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { NO_CAPABILITIES, type Provider, type ProviderDefinition } from '../../contract/provider';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';
import { AssemblyAiTranscription } from './assemblyai-transcription';

const API_KEY = 'ASSEMBLYAI_API_KEY';
const BASE_URL = 'ASSEMBLYAI_BASE_URL';
const DEFAULT_BASE_URL = 'https://api.assemblyai.com/v2';

/** AssemblyAI (https://www.assemblyai.com/docs/api-reference). The key is sent as it is, without a scheme. */
@ModelProvider()
export class AssemblyAiProvider implements ProviderDefinition {
  readonly id = 'assemblyai';
  readonly credentials = [API_KEY, BASE_URL];

  create(environment: ProviderEnvironment): Provider | null {
    const apiKey = environment[API_KEY];
    if (apiKey === undefined) return null;
    const http = new UpstreamHttp({
      baseUrl: parseBaseUrl(environment[BASE_URL] ?? DEFAULT_BASE_URL, BASE_URL),
      headers: { authorization: apiKey },
    });
    return {
      id: this.id,
      capabilities: { ...NO_CAPABILITIES, transcription: true },
      quirks: {},
      transcription: new AssemblyAiTranscription(http),
      drain: () => http.drain(),
      close: () => http.close(),
    };
  }
}

@Module({ providers: [AssemblyAiProvider] })
export class AssemblyAiModule {}
