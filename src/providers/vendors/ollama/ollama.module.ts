import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import {
  LOW_TO_HIGH_EFFORTS,
  OPENAI_PLATFORM_FIELDS,
  OpenAiFormatProvider,
} from '../../dialects/openai-format.provider';

/**
 * Ollama (https://docs.ollama.com/api/openai-compatibility). It takes images only as data and never fetches them
 * (https://github.com/ollama/ollama/blob/main/openai/openai.go). Replies start slowly when it has to load a model.
 */
@ModelProvider()
export class OllamaProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'ollama',
      apiKeyVariable: 'OLLAMA_API_KEY',
      baseUrlVariable: 'OLLAMA_BASE_URL',
      capabilities: ['chat', 'completions', 'embeddings'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        inputImageUrls: 'inline',
        reasoningEfforts: LOW_TO_HIGH_EFFORTS,
        // It chooses tools itself: https://github.com/ollama/ollama/issues/17921
        rejectFields: ['logit_bias', 'tool_choice'],
        dropFields: OPENAI_PLATFORM_FIELDS,
      },
    });
  }
}

@Module({ providers: [OllamaProvider] })
export class OllamaModule {}
