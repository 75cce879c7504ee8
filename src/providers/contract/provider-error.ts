import type { ErrorCode } from '../../core/errors/catalog';

/** The codes a provider call may end with. */
export type ProviderErrorCode = Extract<
  ErrorCode,
  | 'validation_failed'
  | 'provider_rate_limited'
  | 'provider_error'
  | 'provider_timeout'
  | 'provider_unavailable'
  | 'provider_disconnect'
  | 'stream_interrupted'
>;

/** How far the call got. Decides what may be retried, and what the client has already received. */
export type ProviderPhase = 'connect' | 'headers' | 'first_token' | 'stream' | 'job';

/** The code of a reply that is longer than the gateway reads: a retry would return the same. */
export const REPLY_TOO_LONG = 'reply_too_long';
/** The code of a job that succeeded, but whose result is missing from the provider's report. */
export const SUCCESS_WITHOUT_RESULT = 'no_result';

export interface ProviderErrorOptions {
  readonly phase: ProviderPhase;
  /** Whether failover to another provider is allowed. */
  readonly fallback: boolean;
  /** Where `fallback` is false: whether failover to a deployment of another model is still allowed. */
  readonly otherModel?: boolean;
  /** Whether the same deployment may be retried once. */
  readonly retrySame?: boolean;
  readonly retryAfterSeconds?: number;
  /** The request was sent but no response arrived: the work may or may not have been done. */
  readonly outcomeUnknown?: boolean;
  /** The client's field that the upstream refused, if reported. */
  readonly param?: string;
  /** Public context, for example `{ reason: 'content_filtered' }`. */
  readonly details?: Record<string, unknown>;
  /** Facts for the log and the router. Never shown to the client. */
  readonly upstream?: {
    readonly status?: number;
    readonly code?: string;
    readonly type?: string;
    readonly requestId?: string;
  };
  /** The upstream refused the operator's own key or account. */
  readonly credentialRefused?: boolean;
  /** The account has no credit, or a quota that waiting does not refill. No client's request can cause this. */
  readonly outOfCredit?: boolean;
  /** The upstream does not offer the model, or a feature that the request needs, to the operator's account. */
  readonly notOffered?: boolean;
  readonly cause?: unknown;
}

/**
 * The only error a provider throws. `message` is our own, safe text: upstream text may contain organization ids or
 * keys.
 */
export class ProviderError extends Error {
  readonly code: ProviderErrorCode;
  readonly options: ProviderErrorOptions;

  constructor(code: ProviderErrorCode, message: string, options: ProviderErrorOptions) {
    super(message, { cause: options.cause });
    this.name = 'ProviderError';
    this.code = code;
    this.options = options;
  }
}
