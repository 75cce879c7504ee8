import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Z.ai, GLM (https://docs.z.ai/api-reference/llm/chat-completion). It always chooses tools itself and has no penalties
 * (https://java.agentscope.io/v2/en/integration/model/glm).
 */
@ModelProvider()
export class ZaiProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'zai',
      apiKeyVariable: 'ZAI_API_KEY',
      baseUrlVariable: 'ZAI_BASE_URL',
      defaultBaseUrl: 'https://api.z.ai/api/paas/v4',
      capabilities: ['chat'],
      quirks: {
        // Streams end with usage even if it is not requested.
        streamUsage: 'none',
        maxTokensField: 'max_tokens',
        // https://docs.z.ai/guides/capabilities/thinking-mode
        reasoningReplay: true,
        rejectFields: [
          'tool_choice',
          'parallel_tool_calls',
          'frequency_penalty',
          'presence_penalty',
          'logprobs',
          'top_logprobs',
          'logit_bias',
        ],
        dropMessageFields: ['name'],
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'seed', 'user'],
      },
    });
  }
}

@Module({ providers: [ZaiProvider] })
export class ZaiModule {}
