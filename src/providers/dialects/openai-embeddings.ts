/**
 * Dialect `openai-embeddings`: `POST …/embeddings` as OpenAI defined it and most servers implement it. The reply is
 * read as it arrives, since a full batch is tens of megabytes.
 */
import {
  type EmbeddingInput,
  type EmbeddingRequest,
  type EmbeddingResult,
  type EmbeddingsProvider,
  inputsOf,
  isVector,
  type Vector,
} from '../contract/embeddings';
import type { DeploymentTraits, ProviderCall } from '../contract/provider-call';
import { ProviderError } from '../contract/provider-error';
import { embedBatches, toBatches } from '../kit/embedding-batches';
import { DataSplitter, decodeBase64, isJsonObject, type JsonObject, parseJsonObject } from '../kit/json';
import { mapInBandError, transportFailure } from '../kit/upstream-errors';
import type { ReplyReceiver } from '../kit/reply-receiver';
import type { UpstreamHttp } from '../kit/upstream-http';
import { toUsageVector } from '../kit/usage';
import { unsupported } from '../kit/unsupported';
import { checkNoRejectedFields, forwardedFields } from './openai-chat/chat-request';

export class OpenAiEmbeddings implements EmbeddingsProvider {
  private readonly endpoint: string;

  constructor(private readonly http: UpstreamHttp) {
    this.endpoint = http.endpoint('embeddings');
  }

  assertSupported(request: EmbeddingRequest, deployment: DeploymentTraits): void {
    checkEmbeddingSupport(request, deployment);
  }

  async embed(request: EmbeddingRequest, call: ProviderCall): Promise<EmbeddingResult> {
    const { embeddingBatch } = call.quirks;
    const batches = embeddingBatch === undefined ? [] : toBatches(inputsOf(request.input), embeddingBatch);
    // Inputs that fit into one call are sent unchanged: a single input may be outside a list.
    if (batches.length < 2) return this.embedBatch(request, call);
    return embedBatches(batches, call, (batch, limited) =>
      this.embedBatch({ ...request, input: batch as EmbeddingInput }, limited),
    );
  }

  private embedBatch(request: EmbeddingRequest, call: ProviderCall): Promise<EmbeddingResult> {
    const body = JSON.stringify(toOpenAiEmbeddingRequest(request, call));
    return new Promise((resolve, reject) => {
      const expected = { count: inputsOf(request.input).length, dimensions: request.dimensions ?? null };
      this.http.postForPieces(this.endpoint, body, call, new EmbeddingReply(expected, call, resolve, reject));
    });
  }
}

/** Fields that are set below; `encoding_format` depends on the upstream, not on the client. */
const HANDLED_FIELDS: ReadonlySet<string> = new Set(['model', 'input', 'dimensions', 'encoding_format']);

/**
 * The body for the upstream. Pure; the request is not changed.
 * @throws ProviderError `validation_failed` with `param` for features that this model or upstream does not support
 */
function toOpenAiEmbeddingRequest(request: EmbeddingRequest, call: ProviderCall): JsonObject {
  checkEmbeddingSupport(request, call);
  const { quirks, upstreamModel } = call;
  const { input, dimensions } = request;
  return {
    model: upstreamModel,
    input,
    ...(dimensions != null && { [quirks.fieldNames?.['dimensions'] ?? 'dimensions']: dimensions }),
    ...(quirks.plainEmbeddings !== true && {
      encoding_format: quirks.int8Embeddings === true ? 'base64_int8' : 'base64',
    }),
    ...forwardedFields(request, HANDLED_FIELDS, quirks),
  };
}

/** @throws ProviderError `validation_failed` with `param` for features that this model or upstream does not support */
function checkEmbeddingSupport(request: EmbeddingRequest, { features, quirks }: DeploymentTraits): void {
  if (request.dimensions != null && features.dimensions === false) throw unsupported('dimensions');
  checkNoRejectedFields(request, quirks);
}

/** The properties of the reply that the request determines. */
export interface ExpectedEmbeddings {
  readonly count: number;
  /** `null`: the model's default. */
  readonly dimensions: number | null;
}

/** More than the longest known vectors need as numbers with all their digits. */
const MAX_BYTES_PER_VECTOR = 256 * 1024;
const MAX_OTHER_BYTES = 64 * 1024;

/**
 * Reads a list of embeddings as it arrives, and validates it against the request: one vector per input, each with a
 * unique index, all of one length, of numbers that fit into 32-bit floats.
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
    if (this.bytes > this.expected.count * MAX_BYTES_PER_VECTOR + MAX_OTHER_BYTES) {
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
    // Some upstreams omit the index; the order then applies.
    const index = item['index'] ?? this.added;
    const vector = toVector(item['embedding'], this.call.quirks.int8Embeddings === true);
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
    this.call.trace?.noteModel(frame['model']);
    const vectors = this.vectors as Vector[];
    this.checkLengths(vectors);
    return { vectors, usage: toUsageVector(toChatUsage(frame['usage']), this.call.quirks) };
  }

  private checkLengths(vectors: readonly Vector[]): void {
    const length = vectors[0]?.length;
    if (vectors.some((vector) => vector.length !== length)) throw notEmbeddings('vectors of different lengths');
    const { dimensions } = this.expected;
    if (dimensions === null || length === dimensions) return;
    // Several servers ignore the field; vectors of a different length would break the client's index.
    const message = `This model makes vectors of ${length} dimensions; the number cannot be chosen.`;
    throw new ProviderError('validation_failed', message, {
      phase: 'first_token',
      fallback: false,
      param: 'dimensions',
    });
  }
}

/** Some upstreams report only the total, which for embeddings is the prompt. */
function toChatUsage(usage: unknown): unknown {
  return isJsonObject(usage) ? { prompt_tokens: usage['total_tokens'], ...usage } : usage;
}

function parse(json: string): JsonObject {
  const value = parseJsonObject(json);
  if (value === null) throw notEmbeddings();
  return value;
}

const FLOAT_BYTES = 4;

/**
 * An embedding as an upstream sends it: a list of numbers, or base64 of little-endian 32-bit floats or of signed bytes.
 * @returns `null` for anything else, and for NaN, infinity, or numbers that no 32-bit float can hold
 */
function toVector(embedding: unknown, isInt8: boolean): Vector | null {
  if (typeof embedding === 'string') return isInt8 ? fromInt8(embedding) : fromBase64(embedding);
  return isVector(embedding) ? embedding : null;
}

function fromBase64(text: string): Float32Array | null {
  const bytes = decodeBase64(text);
  if (bytes === null || bytes.length % FLOAT_BYTES !== 0) return null;
  const vector = new Float32Array(bytes.length / FLOAT_BYTES);
  for (let index = 0; index < vector.length; index++) {
    const value = bytes.readFloatLE(index * FLOAT_BYTES);
    if (!Number.isFinite(value)) return null;
    vector[index] = value;
  }
  return vector;
}

function fromInt8(text: string): Float32Array | null {
  const bytes = decodeBase64(text);
  if (bytes === null || bytes.length === 0) return null;
  return Float32Array.from(bytes, (byte) => (byte << 24) >> 24);
}

/** The upstream responded with something other than embeddings. */
function notEmbeddings(what = 'a response that is not a list of embeddings'): ProviderError {
  return new ProviderError('provider_error', `The provider sent ${what}.`, { phase: 'first_token', fallback: true });
}
