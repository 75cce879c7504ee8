import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ApiKeyProvider } from '../../kit/api-key-provider';
import { AssemblyAiTranscription } from './assemblyai-transcription';

/** AssemblyAI (https://www.assemblyai.com/docs/api-reference). The key is sent as it is, without a scheme. */
@ModelProvider()
export class AssemblyAiProvider extends ApiKeyProvider {
  constructor() {
    super({
      id: 'assemblyai',
      apiKeyVariable: 'ASSEMBLYAI_API_KEY',
      baseUrlVariable: 'ASSEMBLYAI_BASE_URL',
      defaultBaseUrl: 'https://api.assemblyai.com/v2',
      headers: (apiKey) => ({ authorization: apiKey }),
      serve: (http) => ({ transcription: new AssemblyAiTranscription(http) }),
    });
  }
}

@Module({ providers: [AssemblyAiProvider] })
export class AssemblyAiModule {}
