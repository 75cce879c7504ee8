import { GatewayError } from '../common/errors/gateway-error';
import { ProviderError, type ProviderErrorCode } from '../providers/contract/provider-error';
import type { Candidate } from './inference.types';

/** How soon a place at a full provider is worth another try. */
const SHORTEST_RETRY_SECONDS = 1;
const LONGEST_RETRY_SECONDS = 3_600;

/**
 * Every candidate is away or full for now; says how long it takes until the first is not. When what keeps that one away
 * is its rate limit, the answer is that of the call which met the limit: nothing is broken.
 */
export function noneAvailable(candidates: readonly Candidate[], nowMs: number): GatewayError {
  const [first] = candidates.toSorted((left, right) => left.health.waitMs(nowMs) - right.health.waitMs(nowMs));
  const waitMs = first?.health.waitMs(nowMs) ?? 0;
  const retryAfterSeconds = Math.min(Math.max(SHORTEST_RETRY_SECONDS, Math.ceil(waitMs / 1000)), LONGEST_RETRY_SECONDS);
  if (first?.health.isResting(nowMs) === true) {
    const message = 'Every provider of the model is over its rate limit, failing or full at the moment.';
    return new GatewayError('provider_rate_limited', message, { retryAfterSeconds });
  }
  const message = 'Every provider of the model is failing, resting or full at the moment.';
  return new GatewayError('no_provider_available', message, { retryAfterSeconds });
}

/**
 * From what tells the client most to what tells it least: a rate limit ends at a known time, an outage and a slow answer
 * will pass, a broken answer may, a refusal of our account or a deployment that lacks a feature will not soon.
 */
const BY_USE: readonly ProviderErrorCode[] = [
  'provider_rate_limited',
  'provider_unavailable',
  'provider_timeout',
  'provider_disconnect',
  'provider_error',
  'validation_failed',
];

/**
 * The one failure that a client is told of when several attempts have failed: the most useful code, and the soonest time
 * that one of its bearers has named. A single failure is told as it is.
 */
export function mostUseful(failures: readonly ProviderError[]): ProviderError | undefined {
  const [failure, ...equals] = failures
    .toSorted((left, right) => BY_USE.indexOf(left.code) - BY_USE.indexOf(right.code))
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
