import type { DeploymentTraits, ProviderCall } from './provider-call';
import type { UsageVector } from './usage';

/** One text, several texts, the token ids of one text, or those of several. Never empty, and without empty items. */
export type EmbeddingInput = string | readonly string[] | readonly number[] | readonly (readonly number[])[];

/**
 * An embeddings request that the endpoint has validated. Unknown fields pass through; `routing` and `x_*` are already
 * removed, and so is `encoding_format`, which only concerns the gateway and its client.
 */
export interface EmbeddingRequest {
  readonly model: string;
  readonly input: EmbeddingInput;
  readonly dimensions?: number | null;
  readonly [field: string]: unknown;
}

/** At least one number, each finite as a 32-bit float, which is how official clients receive vectors. */
export type Vector = readonly number[] | Float32Array;

/** Whether the upstream's value is a {@link Vector} of numbers. */
export function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every(isFloat);
}

function isFloat(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(Math.fround(value));
}

export interface EmbeddingResult {
  /** One for each input, in the order of the input, all of one length. */
  readonly vectors: readonly Vector[];
  /** `null` when the upstream reports none: the caller estimates. */
  readonly usage: UsageVector | null;
}

/** Embeddings as a capability of a provider. Throws `ProviderError` only. */
export interface EmbeddingsProvider {
  /** See `ChatProvider`. */
  assertSupported?(request: EmbeddingRequest, deployment: DeploymentTraits): void;
  embed(request: EmbeddingRequest, call: ProviderCall): Promise<EmbeddingResult>;
}

/** The inputs one by one, as texts or as token ids: each gets a vector. */
export function inputsOf(input: EmbeddingInput): readonly (string | readonly number[])[] {
  if (typeof input === 'string') return [input];
  return (typeof input[0] === 'number' ? [input] : input) as readonly (string | readonly number[])[];
}
