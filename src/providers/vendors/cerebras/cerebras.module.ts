import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ESSENTIAL_MESSAGE_FIELDS } from '../../dialects/openai-chat/chat-messages';
import { COMMON_CHAT_FIELDS, LOW_TO_HIGH_EFFORTS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Cerebras Inference (https://inference-docs.cerebras.ai/api-reference/chat-completions). It answers 400 to every field
 * that it does not know; those that it knows are in its SDK (`@cerebras/cerebras_cloud_sdk` 1.91.0).
 */
@ModelProvider()
export class CerebrasProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'cerebras',
      apiKeyVariable: 'CEREBRAS_API_KEY',
      baseUrlVariable: 'CEREBRAS_BASE_URL',
      defaultBaseUrl: 'https://api.cerebras.ai/v1',
      capabilities: ['chat', 'completions'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_completion_tokens',
        // Qwen's reasoning comes `raw` by default: https://inference-docs.cerebras.ai/capabilities/reasoning
        reasoningTag: 'think',
        // https://github.com/mnfst/modelparams.dev/pull/115
        reasoningEfforts: LOW_TO_HIGH_EFFORTS,
        fixedEfforts: true,
        acceptFields: [
          ...COMMON_CHAT_FIELDS,
          'logit_bias',
          'logprobs',
          'top_logprobs',
          'prediction',
          'reasoning_format',
          'disable_reasoning',
          'clear_thinking',
          'min_tokens',
          'min_completion_tokens',
          'user',
          // Of completions.
          'echo',
          'suffix',
        ],
        // https://github.com/yetone/alma-releases/issues/59
        acceptMessageFields: [...ESSENTIAL_MESSAGE_FIELDS, 'name'],
        // https://github.com/musistudio/llms/issues/25
        joinTextParts: true,
      },
    });
  }
}

@Module({ providers: [CerebrasProvider] })
export class CerebrasModule {}
