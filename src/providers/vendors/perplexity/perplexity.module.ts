import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { OpenAiResponses } from '../../dialects/openai-responses/openai-responses.provider';

/**
 * The Agent API of Perplexity, which speaks the format of OpenAI's Responses API; its chat completions ended on 2026-09-27
 * (https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/how-to). It searches the web only for requests that bring
 * its tools, each search at a price of its own, so clients cannot ask for them here. It refuses unknown fields; the fields
 * below are those that the guide lists as removed.
 */
@ModelProvider()
export class PerplexityProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'perplexity',
      apiKeyVariable: 'PERPLEXITY_API_KEY',
      baseUrlVariable: 'PERPLEXITY_BASE_URL',
      defaultBaseUrl: 'https://api.perplexity.ai/v1',
      capabilities: ['chat'],
      chat: (http) => new OpenAiResponses(http),
      quirks: {
        chatResponseFormat: true,
        rejectFields: [
          'stop',
          'presence_penalty',
          'frequency_penalty',
          'logprobs',
          'top_logprobs',
          'logit_bias',
          'verbosity',
        ],
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'prompt_cache_options', 'user'],
        dropMessageFields: ['name'],
      },
    });
  }
}

@Module({ providers: [PerplexityProvider] })
export class PerplexityModule {}
