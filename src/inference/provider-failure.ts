import { GatewayError } from '../core/errors/gateway-error';
import { ProviderError } from '../providers/contract/provider-error';

/** Applies to a 429 response without `Retry-After`. */
const DEFAULT_RATE_LIMIT_SECONDS = 10;

/** Translates the failure of the last attempt into the client's error (contract section 7). */
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

/** Like `toClientError`, with unknown errors as internal errors: for records and started responses. */
export function asGatewayError(error: unknown): GatewayError {
  const translated = toClientError(error);
  if (translated instanceof GatewayError) return translated;
  return GatewayError.unexpected(error);
}
