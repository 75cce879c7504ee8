import { GatewayError } from '../common/errors/gateway-error';
import { ProviderError } from '../providers/contract/provider-error';

/** Applies when a provider answered 429 without saying for how long. */
const DEFAULT_RATE_LIMIT_SECONDS = 10;

/** What the client is told when the last attempt has failed (contract section 7). */
export function toClientError(error: unknown): unknown {
  if (!(error instanceof ProviderError)) return error;
  const { param, details, retryAfterSeconds } = error.options;
  return new GatewayError(error.code, error.message, {
    param,
    details,
    retryAfterSeconds:
      retryAfterSeconds ?? (error.code === 'provider_rate_limited' ? DEFAULT_RATE_LIMIT_SECONDS : undefined),
    cause: error,
  });
}

/** The same, with anything unknown as our own fault: for records, and for answers that have begun. */
export function asGatewayError(error: unknown): GatewayError {
  const translated = toClientError(error);
  if (translated instanceof GatewayError) return translated;
  return GatewayError.unexpected(error);
}
