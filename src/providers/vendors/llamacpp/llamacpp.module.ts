import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OPENAI_PLATFORM_FIELDS, OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/** The server of llama.cpp (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md). */
@ModelProvider()
export class LlamaCppProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'llamacpp',
      apiKeyVariable: 'LLAMACPP_API_KEY',
      baseUrlVariable: 'LLAMACPP_BASE_URL',
      capabilities: ['chat', 'completions', 'embeddings'],
      quirks: {
        streamUsage: 'include_usage',
        maxTokensField: 'max_tokens',
        toolChoiceWords: true,
        // Otherwise clients could make the server fetch URLs inside the operator's network.
        inputImageUrls: 'check',
        dropFields: OPENAI_PLATFORM_FIELDS,
        plainEmbeddings: true,
      },
    });
  }
}

@Module({ providers: [LlamaCppProvider] })
export class LlamaCppModule {}
