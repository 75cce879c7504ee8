import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ESSENTIAL_MESSAGE_FIELDS } from '../../dialects/openai-chat/chat-messages';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Cerebras Inference (https://inference-docs.cerebras.ai/resources/openai): it answers 400 to the fields refused here.
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
        // https://github.com/mnfst/modelparams.dev/pull/115
        reasoningEfforts: { minimal: 'low', xhigh: 'high', max: 'high' },
        fixedEfforts: true,
        rejectFields: ['frequency_penalty', 'presence_penalty', 'logit_bias'],
        dropFields: OPENAI_PLATFORM_FIELDS,
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
