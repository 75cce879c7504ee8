import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { OpenAiResponses } from '../../dialects/openai-responses/openai-responses.provider';

/**
 * The Agent API of Perplexity, which speaks the format of OpenAI's Responses API; its chat completions ended on
 * 2026-09-27 (https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/how-to), and with them the request fee by
 * `search_context_size`. It searches the web only for requests that bring its tools. The model chooses how often: each
 * search costs 0.0025 USD (https://docs.perplexity.ai/docs/getting-started/pricing, October 2026), and its results are
 * input tokens of the next step. No hold covers that, so clients cannot ask for it here. It refuses unknown fields; the
 * fields below are those that the guide lists as removed.
 *
 * Embeddings are signed bytes, not normalized (https://docs.perplexity.ai/docs/embeddings/quickstart).
 */
@ModelProvider()
export class PerplexityProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'perplexity',
      apiKeyVariable: 'PERPLEXITY_API_KEY',
      baseUrlVariable: 'PERPLEXITY_BASE_URL',
      defaultBaseUrl: 'https://api.perplexity.ai/v1',
      capabilities: ['chat', 'embeddings'],
      chat: (http) => new OpenAiResponses(http),
      quirks: {
        chatResponseFormat: true,
        int8Embeddings: true,
        // https://docs.perplexity.ai/api-reference/embeddings-post
        embeddingBatch: { inputs: 512, tokens: 120_000 },
        rejectFields: [
          'stop',
          'presence_penalty',
          'frequency_penalty',
          'logprobs',
          'top_logprobs',
          'logit_bias',
          'verbosity',
        ],
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'user'],
        dropMessageFields: ['name'],
      },
    });
  }
}

@Module({ providers: [PerplexityProvider] })
export class PerplexityModule {}
