import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ESSENTIAL_MESSAGE_FIELDS } from '../../dialects/openai-chat/chat-messages';
import {
  LOW_TO_HIGH_EFFORTS,
  OPENAI_PLATFORM_FIELDS,
  OpenAiFormatProvider,
} from '../../dialects/openai-format.provider';
import { FireworksImages } from './fireworks-images';

/**
 * Fireworks AI (https://docs.fireworks.ai/tools-sdks/openai-compatibility). Models are named
 * `accounts/fireworks/models/…`.
 */
@ModelProvider()
export class FireworksProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'fireworks',
      apiKeyVariable: 'FIREWORKS_API_KEY',
      baseUrlVariable: 'FIREWORKS_BASE_URL',
      defaultBaseUrl: 'https://api.fireworks.ai/inference/v1',
      capabilities: ['chat', 'completions', 'embeddings', 'images'],
      images: (http) => new FireworksImages(http),
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        // https://github.com/nullclaw/nullclaw/pull/231
        streamAbove: 4_096,
        // https://docs.fireworks.ai/guides/reasoning; models without interleaved thinking ignore reasoning.
        reasoningReplay: true,
        reasoningEfforts: LOW_TO_HIGH_EFFORTS,
        // It answers 400 to fields that it does not know (https://github.com/web-infra-dev/midscene/issues/1322).
        dropFields: [...OPENAI_PLATFORM_FIELDS, 'verbosity'],
        // https://github.com/musistudio/claude-code-router/issues/377
        acceptMessageFields: [...ESSENTIAL_MESSAGE_FIELDS, 'name'],
        plainEmbeddings: true,
        imageUrls: false,
        imagesPerCall: 1,
      },
    });
  }
}

@Module({ providers: [FireworksProvider] })
export class FireworksModule {}
