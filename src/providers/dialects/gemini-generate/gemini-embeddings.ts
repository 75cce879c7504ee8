/**
 * Embeddings of the dialect `gemini-generate`: `models/{model}:batchEmbedContents`. The reply is read as it arrives,
 * since a full batch is megabytes.
 */
import {
  type EmbeddingRequest,
  type EmbeddingResult,
  type EmbeddingsProvider,
  inputsOf,
  isVector,
  type Vector,
} from '../../contract/embeddings';
import type { DeploymentTraits, EmbeddingBatch, ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { embedBatches, toBatches } from '../../kit/embedding-batches';
import { DataSplitter, type JsonObject, parseJsonObject } from '../../kit/json';
import { mapInBandError, transportFailure } from '../../kit/upstream-errors';
import type { ReplyReceiver } from '../../kit/reply-receiver';
import type { UpstreamHttp } from '../../kit/upstream-http';
import { unsupported } from '../../kit/unsupported';
import { checkNoRejectedFields } from '../openai-chat/chat-request';
import { ModelEndpoints, toResourceName } from './model-endpoints';
import { toUsage } from './usage';

/** "At most 100 requests can be in one batch": https://github.com/vercel/ai/pull/16575 */
const BATCH: EmbeddingBatch = { inputs: 100 };
/** More than the longest vectors take with all their digits. */
const MAX_BYTES_PER_VECTOR = 256 * 1024;
const MAX_OTHER_BYTES = 64 * 1024;
/** Vectors whose length differs from 1 by less than this stay unchanged. */
const UNIT_TOLERANCE = 0.001;

export class GeminiEmbeddings implements EmbeddingsProvider {
  private readonly endpoints: ModelEndpoints;

  constructor(private readonly http: UpstreamHttp) {
    this.endpoints = new ModelEndpoints(http, 'batchEmbedContents');
  }

  assertSupported(request: EmbeddingRequest, deployment: DeploymentTraits): void {
    textsOf(request, deployment);
  }

  async embed(request: EmbeddingRequest, call: ProviderCall): Promise<EmbeddingResult> {
    const batches = toBatches(textsOf(request, call), BATCH);
    return embedBatches(batches, call, (texts, limited) => this.embedBatch(texts, request.dimensions ?? null, limited));
  }

  private embedBatch(
    texts: readonly string[],
    dimensions: number | null,
    call: ProviderCall,
  ): Promise<EmbeddingResult> {
    const model = toResourceName(call.upstreamModel);
    const requests = texts.map((text) => ({
      model,
      content: { parts: [{ text }] },
      ...(dimensions !== null && { outputDimensionality: dimensions }),
    }));
    return new Promise((resolve, reject) => {
      const reply = new EmbeddingsReply({ count: texts.length, dimensions }, resolve, reject);
      this.http.postForPieces(this.endpoints.of(call.upstreamModel), JSON.stringify({ requests }), call, reply);
    });
  }
}

/** @throws ProviderError `validation_failed` with `param` */
function textsOf(request: EmbeddingRequest, { features, quirks }: DeploymentTraits): readonly string[] {
  if (request.dimensions != null && features.dimensions === false) throw unsupported('dimensions');
  checkNoRejectedFields(request, quirks);
  const inputs = inputsOf(request.input);
  if (!inputs.every((input) => typeof input === 'string')) {
    throw unsupported('input', 'This model takes texts, not token ids.');
  }
  return inputs;
}

/** One vector per input, in the order of the inputs, all of one length. */
class EmbeddingsReply implements ReplyReceiver {
  private readonly vectors: Vector[] = [];
  private readonly splitter = new DataSplitter((item) => this.vectors.push(toVector(item)), 'embeddings');
  private bytes = 0;

  constructor(
    private readonly expected: { readonly count: number; readonly dimensions: number | null },
    private readonly resolve: (result: EmbeddingResult) => void,
    readonly onFailure: (error: ProviderError) => void,
  ) {}

  onData(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > this.expected.count * MAX_BYTES_PER_VECTOR + MAX_OTHER_BYTES) throw notEmbeddings();
    this.splitter.push(chunk);
  }

  onEnd(): void {
    try {
      this.resolve(this.toResult());
    } catch (error) {
      this.onFailure(error instanceof ProviderError ? error : transportFailure('first_token', error));
    }
  }

  private toResult(): EmbeddingResult {
    const frame = parse(this.splitter.end());
    if (frame['error'] != null) throw mapInBandError(frame, 'first_token');
    const { vectors, expected } = this;
    const length = expected.dimensions ?? vectors[0]?.length;
    if (vectors.length !== expected.count || vectors.some((vector) => vector.length !== length)) throw notEmbeddings();
    return { vectors, usage: toUsage(frame['usageMetadata']) };
  }
}

function toVector(item: Buffer): Vector {
  const { values } = parse(item.toString('latin1'));
  if (!isVector(values)) throw notEmbeddings();
  return toUnitLength(values);
}

/**
 * Clients of this format compare vectors by their dot product, but older models shorten vectors without normalizing
 * them: https://ai.google.dev/gemini-api/docs/embeddings
 */
function toUnitLength(vector: readonly number[]): Vector {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 || Math.abs(length - 1) < UNIT_TOLERANCE ? vector : vector.map((value) => value / length);
}

function parse(json: string): JsonObject {
  const object = parseJsonObject(json);
  if (object === null) throw notEmbeddings();
  return object;
}

function notEmbeddings(): ProviderError {
  return new ProviderError('provider_error', 'The provider sent a response that is not the requested embeddings.', {
    phase: 'first_token',
    fallback: true,
  });
}
