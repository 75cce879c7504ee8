import { Module } from '@nestjs/common';
import { SAMPLING_FIELDS } from '../../contract/chat';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Moonshot AI, Kimi (https://platform.kimi.ai/docs/api/overview). Thinking models require their reasoning with tool
 * results.
 */
@ModelProvider()
export class MoonshotProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'moonshot',
      apiKeyVariable: 'MOONSHOT_API_KEY',
      baseUrlVariable: 'MOONSHOT_BASE_URL',
      defaultBaseUrl: 'https://api.moonshot.ai/v1',
      capabilities: ['chat'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        reasoningReplay: true,
        // https://github.com/BerriAI/litellm/blob/main/litellm/llms/moonshot/chat/transformation.py
        joinTextParts: true,
        // "URL-formatted images: Not supported": https://platform.kimi.ai/docs/guide/use-kimi-vision-model
        inputImageUrls: 'inline',
        // Kimi models have fixed sampling parameters and refuse other values
        // (https://github.com/QuantumNous/new-api/issues/5372). The platform's fields include `prompt_cache_options`:
        // writing a one-hour cache costs twice the input price, which the catalogue does not have
        // (https://forum.moonshot.ai/t/context-caching-upgrade-5-min-1-hour-ttl-options/613).
        dropFields: [...OPENAI_PLATFORM_FIELDS, ...SAMPLING_FIELDS],
      },
    });
  }
}

@Module({ providers: [MoonshotProvider] })
export class MoonshotModule {}
