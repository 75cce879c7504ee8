import { GatewayError } from '../../core/errors/gateway-error';

const HEADER = 'Idempotency-Key';
const VALID_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * The `Idempotency-Key` of a request; `null` when it is missing or empty. Node joins repeated headers with a comma and
 * a space, and the space is not allowed, so a repeated header is always refused.
 * @throws GatewayError `validation_failed`; `idempotency_key_required` when the operation requires one.
 */
export function readIdempotencyKey(header: string | readonly string[] | undefined, required: boolean): string | null {
  if (header === undefined || header === '') {
    if (!required) return null;
    throw new GatewayError('idempotency_key_required', `This operation needs the header ${HEADER}.`, { param: HEADER });
  }
  if (typeof header === 'string' && VALID_KEY.test(header)) return header;
  throw new GatewayError(
    'validation_failed',
    `${HEADER} must be sent once, as 1 to 255 visible ASCII characters without spaces.`,
    { param: HEADER },
  );
}
