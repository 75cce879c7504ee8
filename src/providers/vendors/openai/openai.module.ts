import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/** OpenAI itself. The field for the output limit differs by model and is set in the catalogue. */
@ModelProvider()
export class OpenAiProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'openai',
      apiKeyVariable: 'OPENAI_API_KEY',
      baseUrlVariable: 'OPENAI_BASE_URL',
      defaultBaseUrl: 'https://api.openai.com/v1',
      quirks: {
        streamUsage: 'include_usage',
        developerRole: true,
        // Padding against traffic analysis costs bytes, and every padded chunk misses the fast path.
        includeObfuscation: false,
        // OpenAI's `stop` for a forced tool call is correct.
        trustFinishReason: true,
        // Its image models always send base64 and refuse the field.
        imageResponseFormat: 'none',
        imageOutput: true,
        // Since GPT-5.6, cache writes cost 1.25 times the input price
        // (https://developers.openai.com/api/docs/guides/prompt-caching).
        implicitCacheWrites: true,
        // https://developers.openai.com/api/reference/resources/embeddings/methods/create
        embeddingBatch: { inputs: 2_048, tokens: 300_000 },
      },
    });
  }
}

@Module({ providers: [OpenAiProvider] })
export class OpenAiModule {}
