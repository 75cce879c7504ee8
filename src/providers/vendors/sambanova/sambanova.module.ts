import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import {
  LOW_TO_HIGH_EFFORTS,
  OPENAI_PLATFORM_FIELDS,
  OpenAiFormatProvider,
} from '../../dialects/openai-format.provider';

/**
 * SambaNova Cloud (https://docs.sambanova.ai/docs/en/features/openai-compatibility). Its models do not support
 * the fields refused here, nor a seed, and take images only as base64 (`types/chat/completion_create_params.py` of
 * https://github.com/sambanova/sambanova-python).
 */
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
        reasoningEfforts: LOW_TO_HIGH_EFFORTS,
        fixedEfforts: true,
        rejectFields: ['logprobs', 'top_logprobs', 'logit_bias'],
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'seed'],
        inputImageUrls: 'inline',
        plainEmbeddings: true,
      },
    });
  }
}

@Module({ providers: [SambaNovaProvider] })
export class SambaNovaModule {}
