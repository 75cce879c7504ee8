import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { DeepgramSpeech } from './deepgram-speech';
import { DeepgramTranscription } from './deepgram-transcription';

/** Deepgram (https://developers.deepgram.com/reference). */
@ModelProvider()
export class DeepgramProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'deepgram',
      apiKeyVariable: 'DEEPGRAM_API_KEY',
      baseUrlVariable: 'DEEPGRAM_BASE_URL',
      defaultBaseUrl: 'https://api.deepgram.com/v1',
      headers: (apiKey) => ({ authorization: `Token ${apiKey}` }),
      serve: (http) => ({ speech: new DeepgramSpeech(http), transcription: new DeepgramTranscription(http) }),
    });
  }
}

@Module({ providers: [DeepgramProvider] })
export class DeepgramModule {}
