import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * DeepInfra (https://deepinfra.com/docs/openai_api). Its schemas are in `openapi.json` of
 * https://github.com/tryAGI/DeepInfra.
 */
@ModelProvider()
export class DeepInfraProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'deepinfra',
      apiKeyVariable: 'DEEPINFRA_API_KEY',
      baseUrlVariable: 'DEEPINFRA_BASE_URL',
      defaultBaseUrl: 'https://api.deepinfra.com/v1/openai',
      capabilities: ['chat', 'completions', 'embeddings'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        // Kimi, GLM and DeepSeek need their reasoning back (a field of `ChatCompletionAssistantMessage`).
        reasoningReplay: true,
        // `models` makes DeepInfra call other models, at their prices (`OpenAIChatCompletionsIn`).
        rejectFields: ['models'],
        dropFields: OPENAI_PLATFORM_FIELDS,
        plainEmbeddings: true,
        // https://github.com/langchain-ai/langchain/issues/21188
        embeddingBatch: { inputs: 1_024 },
      },
    });
  }
}

@Module({ providers: [DeepInfraProvider] })
export class DeepInfraModule {}
