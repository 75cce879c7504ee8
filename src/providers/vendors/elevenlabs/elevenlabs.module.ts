import { Module } from '@nestjs/common';
import type { ProviderEnvironment } from '../../../core/config/provider-environment';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { NO_CAPABILITIES, type Provider, type ProviderDefinition } from '../../contract/provider';
import { parseBaseUrl, UpstreamHttp } from '../../kit/upstream-http';
import { ElevenLabsMusic } from './elevenlabs-music';
import { ElevenLabsSpeech } from './elevenlabs-speech';
import { ElevenLabsTranscription } from './elevenlabs-transcription';

const API_KEY = 'ELEVENLABS_API_KEY';
const BASE_URL = 'ELEVENLABS_BASE_URL';
const DEFAULT_BASE_URL = 'https://api.elevenlabs.io/v1';

/** ElevenLabs (https://elevenlabs.io/docs/api-reference). */
@ModelProvider()
export class ElevenLabsProvider implements ProviderDefinition {
  readonly id = 'elevenlabs';
  readonly credentials = [API_KEY, BASE_URL];

  create(environment: ProviderEnvironment): Provider | null {
    const apiKey = environment[API_KEY];
    if (apiKey === undefined) return null;
    const http = new UpstreamHttp({
      baseUrl: parseBaseUrl(environment[BASE_URL] ?? DEFAULT_BASE_URL, BASE_URL),
      headers: { 'xi-api-key': apiKey },
    });
    return {
      id: this.id,
      capabilities: { ...NO_CAPABILITIES, speech: true, transcription: true, music: true },
      quirks: {},
      speech: new ElevenLabsSpeech(http),
      transcription: new ElevenLabsTranscription(http),
      music: new ElevenLabsMusic(http),
      drain: () => http.drain(),
      close: () => http.close(),
    };
  }
}

@Module({ providers: [ElevenLabsProvider] })
export class ElevenLabsModule {}
