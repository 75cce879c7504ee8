import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { OpenAiSpeech } from '../../dialects/openai-media/openai-speech';
import { EncodedSpeech } from '../../kit/encoded-speech';
import { OpenRouterVideo } from './openrouter-video';

/**
 * OpenRouter (https://openrouter.ai/docs/api/reference/overview). Its own routing fields are refused: a client could
 * choose models that the gateway has no price for, or buy web searches.
 */
@ModelProvider()
export class OpenRouterProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'openrouter',
      apiKeyVariable: 'OPENROUTER_API_KEY',
      baseUrlVariable: 'OPENROUTER_BASE_URL',
      defaultBaseUrl: 'https://openrouter.ai/api/v1',
      reportSecretVariable: 'OPENROUTER_WEBHOOK_SECRET',
      capabilities: ['chat', 'completions', 'embeddings', 'speech'],
      quirks: {
        streamUsage: 'include_usage',
        rejectFields: ['models', 'provider', 'route', 'plugins', 'preset'],
        dropFields: OPENAI_PLATFORM_FIELDS,
        plainEmbeddings: true,
        // https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
        reasoningReplay: true,
      },
      // It has MP3 and PCM (https://openrouter.ai/docs/guides/overview/multimodal/tts).
      speech: (http) => new EncodedSpeech(new OpenAiSpeech(http), ['opus', 'aac', 'flac', 'wav']),
      video: (provider, http, credential, secret) => new OpenRouterVideo(provider, http, credential, secret),
    });
  }
}

@Module({ providers: [OpenRouterProvider] })
export class OpenRouterModule {}
