import type { EmbeddingResult, Vector } from '../../contract/embeddings';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { DataSplitter } from '../../kit/data-splitter';
import { isJsonObject, type JsonObject } from '../../kit/json-object';
import { mapInBandError } from '../../kit/map-upstream-error';
import { transportFailure } from '../../kit/transport-error';
import type { ReplyReceiver } from '../../kit/upstream-exchange';
import { toUsageVector } from '../../kit/usage';
import { notEmbeddings } from './not-embeddings';
import { toVector } from './to-vector';

/** The expectations of the request. */
export interface ExpectedEmbeddings {
  readonly count: number;
  /** `null`: the model's default. */
  readonly dimensions: number | null;
}

/** More than the longest known vectors need as numbers with all their digits. */
const MAX_BYTES_PER_VECTOR = 256 * 1024;
const MAX_BYTES_BESIDE = 64 * 1024;

/**
 * Reads a list of embeddings as it arrives, and validates it against the request: one vector per input, each with a
 * unique index, all of one length, finite numbers only.
 */
export class EmbeddingReply implements ReplyReceiver {
  private readonly vectors: (Vector | undefined)[];
  private readonly splitter = new DataSplitter((item) => this.add(item));
  private added = 0;
  private bytes = 0;

  constructor(
    private readonly expected: ExpectedEmbeddings,
    private readonly call: ProviderCall,
    private readonly resolve: (result: EmbeddingResult) => void,
    readonly onFailure: (error: ProviderError) => void,
  ) {
    this.vectors = Array.from({ length: expected.count });
  }

  onData(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > this.expected.count * MAX_BYTES_PER_VECTOR + MAX_BYTES_BESIDE) {
      throw notEmbeddings('a response that is too long for the inputs');
    }
    this.splitter.push(chunk);
  }

  onEnd(): void {
    try {
      this.resolve(this.toResult());
    } catch (error) {
      this.onFailure(error instanceof ProviderError ? error : transportFailure('first_token', error));
    }
  }

  private add(json: Buffer): void {
    const item = parse(json.toString('latin1'));
    // Some upstreams omit the index; then the order applies.
    const index = item['index'] ?? this.added;
    const vector = toVector(item['embedding']);
    this.added++;
    if (vector === null) throw notEmbeddings('an embedding that is not a vector');
    if (typeof index !== 'number' || !(index in this.vectors) || this.vectors[index] !== undefined) {
      throw notEmbeddings('embeddings that do not belong to the inputs');
    }
    this.vectors[index] = vector;
  }

  private toResult(): EmbeddingResult {
    const frame = parse(this.splitter.end());
    if (frame['error'] != null) throw mapInBandError(frame, 'first_token');
    if (this.added !== this.expected.count)
      throw notEmbeddings('a number of embeddings that differs from the number of inputs');
    const vectors = this.vectors as Vector[];
    this.checkLengths(vectors);
    return { vectors, usage: toUsageVector(frame['usage'], this.call.quirks) };
  }

  private checkLengths(vectors: readonly Vector[]): void {
    const length = vectors[0]?.length;
    if (vectors.some((vector) => vector.length !== length)) throw notEmbeddings('vectors of different lengths');
    const { dimensions } = this.expected;
    if (dimensions === null || length === dimensions) return;
    // Several servers ignore the field; vectors of a different length would break the client's index.
    const message = `This model makes vectors of ${length} dimensions; their number cannot be chosen.`;
    throw new ProviderError('validation_failed', message, {
      phase: 'first_token',
      fallback: false,
      param: 'dimensions',
    });
  }
}

function parse(json: string): JsonObject {
  try {
    const value: unknown = JSON.parse(json);
    if (isJsonObject(value)) return value;
  } catch {
    // Invalid JSON is handled like JSON of the wrong type.
  }
  throw notEmbeddings();
}
