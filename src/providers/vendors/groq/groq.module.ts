import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ESSENTIAL_MESSAGE_FIELDS } from '../../dialects/openai-chat/chat-messages';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { OpenAiSpeech } from '../../dialects/openai-media/openai-speech';
import { EncodedSpeech } from '../../kit/encoded-speech';

/**
 * Groq (https://console.groq.com/docs/openai): it answers 400 to the fields refused here. A temperature of 0 is fine:
 * it uses a small one itself.
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
      // Its models have WAV only, at 48 kHz by default (https://console.groq.com/docs/text-to-speech/orpheus).
      speech: (http) => new EncodedSpeech(new OpenAiSpeech(http), ['mp3', 'opus', 'aac', 'flac', 'pcm'], 'wav'),
    });
  }
}

@Module({ providers: [GroqProvider] })
export class GroqModule {}
