import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { EncodedSpeech } from '../../kit/encoded-speech';
import { MiniMaxMusic } from './minimax-music';
import { MiniMaxSpeech } from './minimax-speech';
import { MiniMaxVideo } from './minimax-video';

/** MiniMax (https://platform.minimax.io/docs/api-reference/text-openai-api). */
@ModelProvider()
export class MiniMaxProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'minimax',
      apiKeyVariable: 'MINIMAX_API_KEY',
      baseUrlVariable: 'MINIMAX_BASE_URL',
      defaultBaseUrl: 'https://api.minimax.io/v1',
      capabilities: ['chat', 'speech'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_completion_tokens',
        // The range is (0, 1]: https://platform.minimax.io/docs/api-reference/text-chat
        minTemperature: 0.01,
        // https://github.com/MiniMax-AI/MiniMax-M2/issues/51
        oneSystemMessage: true,
        // https://github.com/QwenLM/qwen-code/issues/11834
        toolParameters: 'required',
        reasoningDetails: true,
        reasoningReplay: true,
        dropFields: OPENAI_PLATFORM_FIELDS,
      },
      speech: (http) => new EncodedSpeech(new MiniMaxSpeech(http), ['opus', 'aac', 'wav']),
      video: (provider, http) => new MiniMaxVideo(provider, http),
      music: (http) => new MiniMaxMusic(http),
    });
  }
}

@Module({ providers: [MiniMaxProvider] })
export class MiniMaxModule {}
