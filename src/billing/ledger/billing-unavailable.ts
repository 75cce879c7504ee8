import { GatewayError } from '../../core/errors/gateway-error';

/** A request that cannot be recorded must not be served: the service fails closed. */
export function unavailable(retryAfterSeconds = 1, cause?: Error): GatewayError {
  return new GatewayError('service_unavailable', 'Billing is temporarily unavailable. Retry shortly.', {
    retryAfterSeconds,
    cause,
  });
}
