import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * The router of Hugging Face's inference providers: a model may name one, as in `openai/gpt-oss-120b:groq`
 * (https://huggingface.co/changelog/inference-providers-openai-compatible).
 */
@ModelProvider()
export class HuggingFaceProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'huggingface',
      apiKeyVariable: 'HUGGINGFACE_API_KEY',
      baseUrlVariable: 'HUGGINGFACE_BASE_URL',
      defaultBaseUrl: 'https://router.huggingface.co/v1',
      capabilities: ['chat'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        dropFields: OPENAI_PLATFORM_FIELDS,
      },
    });
  }
}

@Module({ providers: [HuggingFaceProvider] })
export class HuggingFaceModule {}
