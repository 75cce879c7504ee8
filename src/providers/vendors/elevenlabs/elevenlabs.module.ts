import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { EncodedSpeech } from '../../kit/encoded-speech';
import { ElevenLabsMusic } from './elevenlabs-music';
import { ElevenLabsSpeech } from './elevenlabs-speech';
import { ElevenLabsTranscription } from './elevenlabs-transcription';

/** ElevenLabs (https://elevenlabs.io/docs/api-reference). */
@ModelProvider()
export class ElevenLabsProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'elevenlabs',
      apiKeyVariable: 'ELEVENLABS_API_KEY',
      baseUrlVariable: 'ELEVENLABS_BASE_URL',
      defaultBaseUrl: 'https://api.elevenlabs.io/v1',
      headers: (apiKey) => ({ 'xi-api-key': apiKey }),
      serve: (http) => ({
        speech: new EncodedSpeech(new ElevenLabsSpeech(http), ['aac', 'flac', 'wav']),
        transcription: new ElevenLabsTranscription(http),
        music: new ElevenLabsMusic(http),
      }),
    });
  }
}

@Module({ providers: [ElevenLabsProvider] })
export class ElevenLabsModule {}
