import { Bytes } from '../../core/http/answer';
import { GatewayError } from '../../core/errors/gateway-error';
import type { IdempotencyCompletion } from '../../core/types/idempotency';
import type { StoredResponse } from './idempotency.service';

/** A stored response as it is sent again. A long one comes in pieces. */
export type StoredContent = Omit<StoredResponse, 'body'> & { readonly body: Buffer | readonly Buffer[] };

/** The stored response of an `Idempotency-Key`; nothing is charged or counted. */
export class ReplayedResponse extends Bytes {
  readonly status: number;

  constructor({ status, headers, body }: StoredContent) {
    super(body, null, { status, headers });
    this.status = status;
  }
}

/** Stored under the key of at-most-once work when its outcome is unknown. */
export const UNKNOWN_OUTCOME: IdempotencyCompletion = {
  status: 500,
  contentType: 'application/json; charset=utf-8',
  headers: {},
  bodyStored: false,
};

export function unknownOutcome(cause?: unknown): GatewayError {
  const message =
    'The request with this Idempotency-Key was interrupted, and its outcome is unknown. ' +
    'It was not charged, and a retry with this key does not run it again.';
  return new GatewayError('internal_error', message, {
    details: { reason: 'outcome_unknown' },
    shouldRetry: false,
    cause,
  });
}
