import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ESSENTIAL_MESSAGE_FIELDS } from '../../dialects/openai-chat/chat-messages';
import { COMMON_CHAT_FIELDS, LOW_TO_HIGH_EFFORTS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { OpenAiSpeech } from '../../dialects/openai-media/openai-speech';
import { EncodedSpeech } from '../../kit/encoded-speech';

/**
 * Groq (https://console.groq.com/docs/openai): it answers 400 to the fields refused here, and to every field that it
 * does not know; those that it knows are in its SDK (`groq-sdk` 1.6.0). A temperature of 0 is fine: it uses a small one
 * itself.
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
        // Qwen's reasoning comes `raw` unless asked for otherwise: https://console.groq.com/docs/reasoning
        reasoningTag: 'think',
        // GPT OSS has low to high, and Qwen3.8's `high` is what others call `xhigh`.
        reasoningEfforts: LOW_TO_HIGH_EFFORTS,
        fixedEfforts: true,
        rejectFields: ['logprobs', 'top_logprobs', 'logit_bias'],
        // https://github.com/yetone/alma-releases/issues/59
        acceptMessageFields: ESSENTIAL_MESSAGE_FIELDS,
        acceptFields: [
          ...COMMON_CHAT_FIELDS,
          'functions',
          'function_call',
          'reasoning_format',
          'include_reasoning',
          'disable_tool_validation',
          'documents',
          'citation_options',
          'compound_custom',
          'search_settings',
          'include_domains',
          'exclude_domains',
          'user',
        ],
      },
      // Its models have WAV only, at 48 kHz by default (https://console.groq.com/docs/text-to-speech/orpheus).
      speech: (http) => new EncodedSpeech(new OpenAiSpeech(http), ['mp3', 'opus', 'aac', 'flac', 'pcm'], 'wav'),
    });
  }
}

@Module({ providers: [GroqProvider] })
export class GroqModule {}
