import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/** Cohere's compatibility endpoint, with its list of parameters (https://docs.cohere.com/docs/compatibility-api). */
@ModelProvider()
export class CohereProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'cohere',
      apiKeyVariable: 'COHERE_API_KEY',
      baseUrlVariable: 'COHERE_BASE_URL',
      defaultBaseUrl: 'https://api.cohere.ai/compatibility/v1',
      capabilities: ['chat', 'embeddings'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        developerRole: true,
        // https://docs.cohere.com/reference/embed
        embeddingBatch: { inputs: 96 },
        // None and high turn thinking off and on; others are refused.
        reasoningEfforts: { minimal: 'none', low: 'high', medium: 'high', xhigh: 'high', max: 'high' },
        fixedEfforts: true,
        rejectFields: [
          'logit_bias',
          'top_logprobs',
          'modalities',
          'audio',
          'dimensions',
          'parallel_tool_calls',
          // Cohere's own fields, of which the endpoint takes none.
          'input_type',
          'truncate',
          'documents',
          'citation_options',
        ],
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'prediction', 'user'],
        // https://docs.cohere.com/v2/reference/errors
        plainRefusals: true,
      },
    });
  }
}

@Module({ providers: [CohereProvider] })
export class CohereModule {}
