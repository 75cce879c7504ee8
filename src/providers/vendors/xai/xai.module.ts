import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { EncodedSpeech } from '../../kit/encoded-speech';
import { XaiSpeech } from './xai-speech';
import { XaiVideo } from './xai-video';

/**
 * xAI. Its models refuse penalties, whatever their value (https://github.com/miaoxworld/NativeTavern/issues/83), and
 * Grok 4 also refuses stop sequences
 * (https://github.com/BerriAI/litellm/blob/main/litellm/llms/xai/chat/transformation.py).
 */
@ModelProvider()
export class XaiProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'xai',
      apiKeyVariable: 'XAI_API_KEY',
      baseUrlVariable: 'XAI_BASE_URL',
      defaultBaseUrl: 'https://api.x.ai/v1',
      capabilities: ['chat', 'images', 'speech'],
      speech: (http) => new EncodedSpeech(new XaiSpeech(http), ['opus', 'aac', 'flac']),
      quirks: {
        streamUsage: 'include_usage',
        // https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/grok/capabilities/reasoning
        reasoningExcluded: true,
        rejectFields: [
          'presence_penalty',
          'frequency_penalty',
          'stop',
          // xAI's web search, which it has shut down (https://github.com/vercel/ai/pull/15713).
          'search_parameters',
          // The answer would have to be fetched later (https://docs.x.ai/docs/guides/deferred-chat-completions).
          'deferred',
        ],
        // https://github.com/BerriAI/litellm/issues/9720
        dropMessageFields: ['name'],
        dropFields: OPENAI_PLATFORM_FIELDS,
        // https://docs.x.ai/developers/model-capabilities/images/generation
        imageSize: 'aspect_ratio',
        // The same page: multipart is not supported.
        imageEdits: 'json',
      },
      video: (provider, http) => new XaiVideo(provider, http),
    });
  }
}

@Module({ providers: [XaiProvider] })
export class XaiModule {}
