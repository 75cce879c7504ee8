import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Voyage AI: embeddings only (https://docs.voyageai.com/reference/embeddings-api). It refuses unknown fields, and
 * vectors in any encoding but base64 (https://github.com/vectorize-io/hindsight/issues/925).
 */
@ModelProvider()
export class VoyageProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'voyage',
      apiKeyVariable: 'VOYAGE_API_KEY',
      baseUrlVariable: 'VOYAGE_BASE_URL',
      defaultBaseUrl: 'https://api.voyageai.com/v1',
      capabilities: ['embeddings'],
      quirks: {
        // Models other than the large ones take more tokens: https://docs.voyageai.com/reference/embeddings-api
        embeddingBatch: { inputs: 1_000, tokens: 120_000 },
        // https://github.com/410979729/scope-recall-hermes/issues/88
        fieldNames: { dimensions: 'output_dimension' },
        acceptFields: ['input_type', 'truncation'],
      },
    });
  }
}

@Module({ providers: [VoyageProvider] })
export class VoyageModule {}
