import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/** SambaNova Cloud (https://docs.sambanova.ai/docs/en/features/openai-compatibility). */
@ModelProvider()
export class SambaNovaProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'sambanova',
      apiKeyVariable: 'SAMBANOVA_API_KEY',
      baseUrlVariable: 'SAMBANOVA_BASE_URL',
      defaultBaseUrl: 'https://api.sambanova.ai/v1',
      capabilities: ['chat', 'embeddings', 'transcription'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        dropFields: OPENAI_PLATFORM_FIELDS,
        plainEmbeddings: true,
      },
    });
  }
}

@Module({ providers: [SambaNovaProvider] })
export class SambaNovaModule {}
