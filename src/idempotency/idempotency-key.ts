import { GatewayError } from '../common/errors/gateway-error';

const HEADER = 'Idempotency-Key';
const VALID_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * The `Idempotency-Key` of a request; `null` when there is none, as also when it is empty. Node joins two lines of this
 * header with a comma and a space, and the space is not allowed: so a doubled header is refused too, whatever it holds.
 * @throws GatewayError `validation_failed`; `idempotency_key_required` when the operation cannot do without.
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
