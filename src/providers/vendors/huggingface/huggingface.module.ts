import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ESSENTIAL_MESSAGE_FIELDS } from '../../dialects/openai-chat/chat-messages';
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
        // It passes bodies on as they are, also to Cerebras, Groq and Fireworks, which refuse what they do not know
        // (https://github.com/huggingface/huggingface.js/pull/2268).
        acceptMessageFields: ESSENTIAL_MESSAGE_FIELDS,
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'verbosity'],
      },
    });
  }
}

@Module({ providers: [HuggingFaceProvider] })
export class HuggingFaceModule {}
