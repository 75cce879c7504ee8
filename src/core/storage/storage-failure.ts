import { GatewayError } from '../errors/gateway-error';

const RETRY_AFTER_SECONDS = 5;

/** The client error when the storage or its table is unavailable. */
export function storageUnavailable(cause: unknown): GatewayError {
  return new GatewayError('service_unavailable', 'Outputs cannot be stored at the moment. Try again shortly.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}
