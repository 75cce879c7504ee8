/**
 * Dialect `openai-embeddings`: `POST …/embeddings` as OpenAI defined it and most servers implement it. The reply is
 * read as it arrives, since a full batch is tens of megabytes.
 */
import {
  type EmbeddingRequest,
  type EmbeddingResult,
  type EmbeddingsProvider,
  inputsOf,
} from '../../contract/embeddings';
import type { DeploymentTraits, ProviderCall } from '../../contract/provider-call';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { EmbeddingReply } from './embedding-reply';
import { checkEmbeddingSupport, toOpenAiEmbeddingRequest } from './to-openai-embedding-request';

export class OpenAiEmbeddings implements EmbeddingsProvider {
  private readonly endpoint: string;

  constructor(private readonly http: UpstreamHttp) {
    this.endpoint = http.endpoint('embeddings');
  }

  assertSupported(request: EmbeddingRequest, deployment: DeploymentTraits): void {
    checkEmbeddingSupport(request, deployment);
  }

  async embed(request: EmbeddingRequest, call: ProviderCall): Promise<EmbeddingResult> {
    const body = JSON.stringify(toOpenAiEmbeddingRequest(request, call));
    return new Promise((resolve, reject) => {
      const expected = { count: inputsOf(request.input).length, dimensions: request.dimensions ?? null };
      this.http.postForPieces(this.endpoint, body, call, new EmbeddingReply(expected, call, resolve, reject));
    });
  }
}
