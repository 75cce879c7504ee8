import type { ChunkStream } from './chat';
import type { DeploymentTraits, ProviderCall } from './provider-call';
import type { UsageVector } from './usage';

/**
 * A text completion that the endpoint has validated: one prompt, always with a limit. Unknown fields pass through;
 * `routing` and `x_*` are already removed.
 */
export interface CompletionRequest {
  readonly model: string;
  readonly prompt: string;
  readonly max_tokens: number;
  readonly stream?: boolean | null;
  readonly echo?: boolean | null;
  readonly suffix?: string | null;
  readonly logprobs?: number | null;
  readonly [field: string]: unknown;
}

/** How an answer ends in this format. */
export type CompletionFinishReason = 'stop' | 'length' | 'content_filter';

/** The reply object, shaped for our client: public model id, one choice, without `usage`. */
export interface CompletionBody {
  readonly id: string;
  readonly object: 'text_completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly [
    {
      readonly text: string;
      readonly index: 0;
      readonly logprobs: unknown;
      readonly finish_reason: CompletionFinishReason;
    },
  ];
  /** Omitted rather than null, which the format does not allow here. */
  readonly system_fingerprint?: string;
}

export interface CompletionResult {
  readonly body: CompletionBody;
  /** `null` when the upstream reports none: the caller estimates. */
  readonly usage: UsageVector | null;
  /** UTF-8 bytes of generated text: the basis of an estimate. */
  readonly outputBytes: number;
}

/** Text completion as a capability of a provider. Its methods throw `ProviderError` only. */
export interface CompletionsProvider {
  /** See `ChatProvider`. */
  assertSupported?(request: CompletionRequest, deployment: DeploymentTraits): void;
  complete(request: CompletionRequest, call: ProviderCall): Promise<CompletionResult>;
  /** A stream of `text_completion` chunks, with the guarantees of a chat stream. */
  openStream(request: CompletionRequest, call: ProviderCall): Promise<ChunkStream>;
}

/** Converts a finish reason of any text format to this one. */
export function toCompletionFinish(reason: string): CompletionFinishReason {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}
