import { GatewayError } from '../common/errors/gateway-error';

const RETRY_AFTER_SECONDS = 5;

/** What a client learns when the storage, or the table of what it holds, cannot be reached. */
export function storageUnavailable(cause: unknown): GatewayError {
  return new GatewayError('service_unavailable', 'Outputs cannot be stored at the moment. Try again shortly.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}
