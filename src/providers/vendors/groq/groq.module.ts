import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ESSENTIAL_MESSAGE_FIELDS } from '../../dialects/openai-chat/chat-messages';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Groq (https://console.groq.com/docs/openai): it answers 400 to the fields refused here. A temperature of 0 is fine: it
 * uses a small one itself.
 */
@ModelProvider()
export class GroqProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'groq',
      apiKeyVariable: 'GROQ_API_KEY',
      baseUrlVariable: 'GROQ_BASE_URL',
      defaultBaseUrl: 'https://api.groq.com/openai/v1',
      capabilities: ['chat', 'speech', 'transcription'],
      quirks: {
        streamUsage: 'include_usage',
        rejectFields: ['logprobs', 'top_logprobs', 'logit_bias'],
        // https://github.com/yetone/alma-releases/issues/59
        acceptMessageFields: ESSENTIAL_MESSAGE_FIELDS,
        dropFields: OPENAI_PLATFORM_FIELDS,
      },
    });
  }
}

@Module({ providers: [GroqProvider] })
export class GroqModule {}
