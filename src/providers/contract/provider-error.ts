import type { ErrorCode } from '../../common/errors/catalog';

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

/** How far the call had come: decides what may be tried again, and what the client has already seen. */
export type ProviderPhase = 'connect' | 'headers' | 'first_token' | 'stream' | 'job';

export interface ProviderErrorOptions {
  readonly phase: ProviderPhase;
  /** Whether another provider may be asked. */
  readonly fallback: boolean;
  /** Whether the same deployment may be asked once more. */
  readonly retrySame?: boolean;
  readonly retryAfterSeconds?: number;
  /** The client's field that the upstream refused, when it says so. */
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
  /** Set when the failure says something about the operator's own key or account. */
  readonly credentialRefused?: boolean;
  readonly cause?: unknown;
}

/** The only error a provider throws. `message` is our own, safe text: upstream text may hold organization ids or keys. */
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
