import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { ESSENTIAL_MESSAGE_FIELDS } from '../../dialects/openai-chat/chat-messages';
import { COMMON_CHAT_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';
import { MistralTranscription } from './mistral-transcription';

/**
 * Mistral refuses unknown fields (https://github.com/mistralai/platform-docs-public/issues/7), also in messages
 * (https://github.com/charmbracelet/crush/issues/1590).
 */
@ModelProvider()
export class MistralProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'mistral',
      apiKeyVariable: 'MISTRAL_API_KEY',
      baseUrlVariable: 'MISTRAL_BASE_URL',
      defaultBaseUrl: 'https://api.mistral.ai/v1',
      capabilities: ['chat', 'embeddings', 'transcription'],
      transcription: (http) => new MistralTranscription(http),
      quirks: {
        // Streams end with usage even if it is not requested.
        streamUsage: 'none',
        maxTokensField: 'max_tokens',
        // https://github.com/mistralai/client-python/blob/main/src/mistralai/models/chatcompletionrequest.py
        acceptFields: [...COMMON_CHAT_FIELDS, 'prompt_mode', 'safe_prompt'],
        rejectFields: ['logprobs', 'top_logprobs', 'logit_bias'],
        fieldNames: { seed: 'random_seed', dimensions: 'output_dimension' },
        acceptMessageFields: [...ESSENTIAL_MESSAGE_FIELDS, 'prefix'],
        // https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py,
        // https://github.com/onyx-dot-app/onyx/issues/6458
        strictRoles: true,
        // https://github.com/langchain-ai/langchain/pull/24668
        shortToolCallIds: true,
        plainEmbeddings: true,
        // https://github.com/raphaelmansuy/edgequake-llm/pull/74, https://github.com/dust-tt/dust/pull/10654
        embeddingBatch: { inputs: 512, tokens: 16_384 },
      },
    });
  }
}

@Module({ providers: [MistralProvider] })
export class MistralModule {}
