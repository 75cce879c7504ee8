import { GatewayError } from '../core/errors/gateway-error';

export const JOBS_UNAVAILABLE = 'Jobs are temporarily unavailable. Retry shortly.';

/** Also for jobs of other organizations. */
export function jobNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such job.');
}
