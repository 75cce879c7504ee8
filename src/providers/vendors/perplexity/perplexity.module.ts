import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Perplexity Sonar (https://docs.perplexity.ai/docs/sonar/openai-compatibility). It calls no tools and ignores the fields
 * refused here (https://docs.getbifrost.ai/providers/supported-providers/perplexity).
 */
@ModelProvider()
export class PerplexityProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'perplexity',
      apiKeyVariable: 'PERPLEXITY_API_KEY',
      baseUrlVariable: 'PERPLEXITY_BASE_URL',
      defaultBaseUrl: 'https://api.perplexity.ai',
      capabilities: ['chat'],
      quirks: {
        streamUsage: 'none',
        maxTokensField: 'max_tokens',
        // https://github.com/bgeneto/open-webui-cost-tracker/issues/6
        reasoningExcluded: true,
        citations: true,
        rejectFields: ['tools', 'tool_choice', 'stop', 'logprobs', 'top_logprobs', 'logit_bias'],
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'seed', 'parallel_tool_calls', 'user'],
      },
    });
  }
}

@Module({ providers: [PerplexityProvider] })
export class PerplexityModule {}
