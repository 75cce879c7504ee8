import { GatewayError } from '../../core/errors/gateway-error';
import type { ErrorCode } from '../../core/errors/catalog';
import type { LimitCheck, LimitKind, LimitPlan, LimitScope } from './limit-check';
import type { Verdict } from './limit-queue';

const CODES: Readonly<Record<LimitKind, ErrorCode>> = {
  requests_per_second: 'rate_limited',
  requests_per_minute: 'rate_limited',
  tokens_per_minute: 'tokens_per_minute_exceeded',
  concurrency: 'concurrency_exceeded',
};
const WORDS: Readonly<Record<LimitKind, string>> = {
  requests_per_second: 'requests per second',
  requests_per_minute: 'requests per minute',
  tokens_per_minute: 'tokens per minute',
  concurrency: 'requests in flight',
};
const OWNERS: Readonly<Record<LimitScope, string>> = {
  key: 'of this API key',
  organization: 'of the organization',
  model: 'of the model',
  global: 'of this service',
};

/** The error for a request refused by one of the checks of its plan. */
export function refusalOf(plan: LimitPlan, { refusedBy, waitMs }: Verdict, tokens: number): GatewayError {
  const check = plan.checks[refusedBy - 1];
  if (check === undefined) return limitsUnavailable(new Error('Redis named an unknown limit'));
  if (check.kind === 'tokens_per_minute' && tokens > check.limit) return largerThanLimit(check, tokens);
  return limitReached(check, waitMs);
}

/**
 * The 429 for a reached limit. `waitMs`: until the request would be admitted, if no other request takes the freed
 * capacity.
 */
export function limitReached({ scope, kind, limit }: LimitCheck, waitMs: number): GatewayError {
  return new GatewayError(CODES[kind], `The limit ${OWNERS[scope]} is reached: ${limit} ${WORDS[kind]}.`, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    details: { scope, limit, window: windowOf(kind) },
  });
}

/**
 * The 429 for a request whose estimate alone exceeds the limit, so that waiting does not help. The contract requires a
 * `Retry-After` on every 429; the smallest value makes clients give up soonest.
 */
function largerThanLimit({ scope, kind, limit }: LimitCheck, tokens: number): GatewayError {
  const message =
    `The request is estimated at ${tokens} tokens, more than the limit ${OWNERS[scope]}: ${limit} ${WORDS[kind]}. ` +
    'Waiting does not help; ask for fewer output tokens or shorten the prompt.';
  return new GatewayError(CODES[kind], message, {
    retryAfterSeconds: 1,
    details: { scope, limit, window: windowOf(kind), estimated_tokens: tokens },
  });
}

/** The 503 for a request whose limits cannot be checked: fail closed. */
export function limitsUnavailable(cause: unknown): GatewayError {
  return new GatewayError('service_unavailable', 'Limits cannot be checked at the moment. Try again shortly.', {
    retryAfterSeconds: 1,
    cause,
  });
}

function windowOf(kind: LimitKind): string {
  if (kind === 'concurrency') return 'in_flight';
  return kind === 'requests_per_second' ? 'second' : 'minute';
}
