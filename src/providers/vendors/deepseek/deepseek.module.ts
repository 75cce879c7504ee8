import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * DeepSeek (https://api-docs.deepseek.com): reasoning must be sent back with tool results, or the request is refused
 * (https://github.com/decolua/9router/issues/1189).
 */
@ModelProvider()
export class DeepSeekProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'deepseek',
      apiKeyVariable: 'DEEPSEEK_API_KEY',
      baseUrlVariable: 'DEEPSEEK_BASE_URL',
      defaultBaseUrl: 'https://api.deepseek.com',
      capabilities: ['chat'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        reasoningReplay: true,
        // https://github.com/deepseek-ai/DeepSeek-V3/issues/1376
        forcedTools: false,
        // https://github.com/BerriAI/litellm/issues/6642
        joinTextParts: true,
        // https://github.com/llm-exe/llm-exe/issues/662
        jsonSchemas: false,
        rejectFields: ['logit_bias', 'parallel_tool_calls'],
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'seed'],
      },
    });
  }
}

@Module({ providers: [DeepSeekProvider] })
export class DeepSeekModule {}
