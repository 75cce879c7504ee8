import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import {
  LOW_TO_HIGH_EFFORTS,
  OPENAI_PLATFORM_FIELDS,
  OpenAiFormatProvider,
} from '../../dialects/openai-format.provider';
import { OpenAiSpeech } from '../../dialects/openai-media/openai-speech';
import { EncodedSpeech } from '../../kit/encoded-speech';
import { toTogetherSpeech } from './together-speech';
import { TogetherTranscription } from './together-transcription';

/** Together AI (https://docs.together.ai/docs/inference/openai-compatibility). */
@ModelProvider()
export class TogetherProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'together',
      apiKeyVariable: 'TOGETHER_API_KEY',
      baseUrlVariable: 'TOGETHER_BASE_URL',
      defaultBaseUrl: 'https://api.together.ai/v1',
      capabilities: ['chat', 'completions', 'embeddings', 'images', 'speech', 'transcription'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        // Kimi, GLM and DeepSeek need it: `ChatCompletionAssistantMessageParam` of its SDK (`together-ai` 0.52.0).
        reasoningReplay: true,
        // https://docs.together.ai/docs/inference/chat/reasoning; GPT OSS has low to high, and Kimi K3 also max.
        reasoningEfforts: LOW_TO_HIGH_EFFORTS,
        reasoningSwitch: true,
        // https://docs.together.ai/docs/logprobs
        logprobLists: true,
        dropFields: OPENAI_PLATFORM_FIELDS,
        plainEmbeddings: true,
        imageResponseFormat: 'base64',
        imageSize: 'width_height',
        // Reference images are URLs that it fetches itself: https://docs.together.ai/docs/images-overview
        imageEdits: 'none',
      },
      speech: (http) => new EncodedSpeech(new OpenAiSpeech(http, toTogetherSpeech), ['opus', 'aac', 'flac']),
      transcription: (http) => new TogetherTranscription(http),
    });
  }
}

@Module({ providers: [TogetherProvider] })
export class TogetherModule {}
