import { Module } from '@nestjs/common';
import { ModelProvider } from '../../contract/model-provider.decorator';
import { OpenAiFormatProvider } from '../../dialects/openai-format.provider';

/**
 * Jina AI: embeddings only (https://jina.ai/embeddings). It refuses unknown fields such as `user`
 * (https://github.com/QuantumNous/new-api/issues/1941). Its encoding field has another name, so vectors arrive as
 * numbers.
 */
@ModelProvider()
export class JinaProvider extends OpenAiFormatProvider {
  constructor() {
    super({
      id: 'jina',
      apiKeyVariable: 'JINA_API_KEY',
      baseUrlVariable: 'JINA_BASE_URL',
      defaultBaseUrl: 'https://api.jina.ai/v1',
      capabilities: ['embeddings'],
      quirks: {
        plainEmbeddings: true,
        // https://github.com/langgenius/dify-official-plugins/issues/1997
        embeddingBatch: { inputs: 512 },
        acceptFields: ['task', 'late_chunking', 'normalized', 'truncate'],
      },
    });
  }
}

@Module({ providers: [JinaProvider] })
export class JinaModule {}
