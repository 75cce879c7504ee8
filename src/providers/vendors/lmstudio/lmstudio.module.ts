import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/** LM Studio (https://lmstudio.ai/docs/developer/openai-compat). */
@ModelProvider()
export class LmStudioProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'lmstudio',
      apiKeyVariable: 'LMSTUDIO_API_KEY',
      baseUrlVariable: 'LMSTUDIO_BASE_URL',
      capabilities: ['chat', 'completions', 'embeddings'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        toolChoiceWords: true,
        // Otherwise clients could make the server fetch URLs inside the operator's network.
        inputImageUrls: 'inline',
        dropFields: OPENAI_PLATFORM_FIELDS,
        plainEmbeddings: true,
      },
    });
  }
}

@Module({ providers: [LmStudioProvider] })
export class LmStudioModule {}
