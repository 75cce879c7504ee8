import { ERROR_CATALOG, type ErrorCode, type ErrorDefinition, type ErrorType } from './catalog';

export interface GatewayErrorOptions {
  /** JSON path of the offending field, for example `messages[2].content[0].image_url.url`. */
  readonly param?: string;
  /** Seconds to wait before a retry; an integer of at least 1. */
  readonly retryAfterSeconds?: number;
  /** Public, structured context. Never a secret, a prompt or upstream text. */
  readonly details?: unknown;
  /** `false`: a retry cannot succeed; overrides the error table. */
  readonly shouldRetry?: false;
  /** Private: logged, never sent to the client. */
  readonly cause?: unknown;
}

/** The body of every failed request. */
export interface ErrorEnvelope {
  readonly error: {
    readonly type: ErrorType;
    readonly code: ErrorCode;
    readonly message: string;
    readonly request_id: string;
    readonly param?: string;
    readonly retry_after?: number;
    readonly details?: unknown;
  };
}

/** An error of the catalog. `message` is public, `cause` is not. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly details: unknown;
  private readonly neverRetry: boolean;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.param = options.param;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.details = options.details;
    this.neverRetry = options.shouldRetry === false;
  }

  /** An internal fault; the client gets no details. */
  static unexpected(cause: unknown): GatewayError {
    return new GatewayError('internal_error', 'An unexpected error occurred. It has been recorded.', { cause });
  }

  get definition(): ErrorDefinition {
    return ERROR_CATALOG[this.code];
  }

  get status(): number {
    return this.definition.status;
  }

  /** Further headers of the error response. */
  get headers(): Readonly<Record<string, string>> | undefined {
    return undefined;
  }

  /** Whether official clients should retry automatically. */
  get shouldRetry(): boolean {
    if (this.neverRetry) return false;
    const { retry } = this.definition;
    return retry === 'yes' || (retry === 'with-retry-after' && this.retryAfterSeconds !== undefined);
  }

  toEnvelope(requestId: string): ErrorEnvelope {
    return {
      error: {
        type: this.definition.type,
        code: this.code,
        message: this.message,
        request_id: requestId,
        ...(this.param !== undefined && { param: this.param }),
        ...(this.retryAfterSeconds !== undefined && { retry_after: this.retryAfterSeconds }),
        ...(this.details !== undefined && { details: this.details }),
      },
    };
  }
}

/** Describes a failure for operators: by its cause, when its message is meant for clients. */
export function describeCause(error: unknown): string {
  return String(error instanceof GatewayError ? (error.cause ?? error) : error);
}
