import { ERROR_CATALOG, type ErrorCode, type ErrorDefinition, type ErrorType } from './catalog';

export interface GatewayErrorOptions {
  /** JSON path of the offending field, for example `messages[2].content[0].image_url.url`. */
  readonly param?: string;
  /** Seconds after which trying again makes sense; an integer of at least 1. */
  readonly retryAfterSeconds?: number;
  /** Public, structured context. Never a secret, a prompt or upstream text. */
  readonly details?: unknown;
  /** Private: goes to the log, never to the client. */
  readonly cause?: unknown;
}

/** The body of every failed request: contract section 7. */
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

/** A failure that has a row in the error table. `message` is public, `cause` is not. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly details: unknown;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.param = options.param;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.details = options.details;
  }

  /** Our own fault: tells the client nothing but that it happened. */
  static unexpected(cause: unknown): GatewayError {
    return new GatewayError('internal_error', 'An unexpected error occurred. It has been recorded.', { cause });
  }

  get definition(): ErrorDefinition {
    return ERROR_CATALOG[this.code];
  }

  get status(): number {
    return this.definition.status;
  }

  /** Whether an official client should try again without being asked to. */
  get shouldRetry(): boolean {
    const { retry } = this.definition;
    return retry === 'yes' || (retry === 'when-told' && this.retryAfterSeconds !== undefined);
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
