import { GatewayError } from '../core/errors/gateway-error';
import { ProviderError, type ProviderErrorCode } from '../providers/contract/provider-error';
import type { Candidate } from './inference.types';

/** Applies to a 429 response without `Retry-After`. */
const DEFAULT_RATE_LIMIT_SECONDS = 10;

/** Translates the failure of the last attempt into the client's error. */
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

/** `Retry-After` for providers that are only at capacity. */
const SHORTEST_RETRY_SECONDS = 1;
const LONGEST_RETRY_SECONDS = 3_600;

/**
 * The error when no candidate may be called, with the wait until the first is available. If that candidate only waits
 * for its rate limit, the code is `provider_rate_limited`: nothing is broken.
 */
export function noneAvailable(candidates: readonly Candidate[], nowMs: number): GatewayError {
  const [first] = candidates.toSorted((left, right) => left.health.waitMs(nowMs) - right.health.waitMs(nowMs));
  const waitMs = first?.health.waitMs(nowMs) ?? 0;
  const retryAfterSeconds = Math.min(Math.max(SHORTEST_RETRY_SECONDS, Math.ceil(waitMs / 1000)), LONGEST_RETRY_SECONDS);
  if (first?.health.isCoolingDown(nowMs) === true) {
    const message = 'All providers for this model are rate limited, unavailable or at capacity.';
    return new GatewayError('provider_rate_limited', message, { retryAfterSeconds });
  }
  const message = 'All providers for this model are unavailable, rate limited or at capacity.';
  return new GatewayError('no_provider_available', message, { retryAfterSeconds });
}

/**
 * From most to least useful for the client: a rate limit ends at a known time, an outage or timeout is temporary, a
 * broken response may be, a refused account or a missing feature is not.
 */
const BY_USEFULNESS: readonly ProviderErrorCode[] = [
  'provider_rate_limited',
  'provider_unavailable',
  'provider_timeout',
  'provider_disconnect',
  'provider_error',
  'validation_failed',
];

/**
 * The failure to return after several failed attempts: the most useful code, with the shortest `Retry-After` among the
 * failures with that code. A single failure is returned unchanged.
 */
export function mostUseful(failures: readonly ProviderError[]): ProviderError | undefined {
  const [failure, ...equals] = failures
    .toSorted((left, right) => BY_USEFULNESS.indexOf(left.code) - BY_USEFULNESS.indexOf(right.code))
    .filter(({ code }, _index, [first]) => code === first?.code);
  if (failure === undefined || equals.length === 0) return failure;
  const waits = [failure, ...equals].flatMap(({ options }) => options.retryAfterSeconds ?? []);
  if (waits.length === 0) return failure;
  return new ProviderError(failure.code, failure.message, {
    ...failure.options,
    retryAfterSeconds: Math.min(...waits),
    cause: failure,
  });
}
