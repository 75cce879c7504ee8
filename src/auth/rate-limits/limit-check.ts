import type { ErrorCode } from '../../core/errors/catalog';
import { GatewayError } from '../../core/errors/gateway-error';
import { countOf } from '../../core/types/count-of';
import type { RateLimits } from '../../core/types/rate-limits';
import type { LimitKeys, LimitOwner, LimitScope } from './limit-keys';

export type LimitKind = 'requests_per_second' | 'requests_per_minute' | 'tokens_per_minute' | 'concurrency';

/** One limit that a request has to pass, and its counter in Redis. */
export interface LimitCheck {
  readonly scope: LimitScope;
  readonly kind: LimitKind;
  readonly limit: number;
  readonly redisKey: string;
  /** Window in milliseconds; 0: requests in flight. */
  readonly windowMs: number;
}

/** Window lengths; only tests shorten them. Multiples of 50. */
export interface WindowLengths {
  readonly secondMs: number;
  readonly minuteMs: number;
}

export const WINDOW_LENGTHS: WindowLengths = { secondMs: 1_000, minuteMs: 60_000 };

/** The id that counts all callers together. */
export const GLOBAL_ID = 'all';

/** The checks of one key, organization or model, or of all callers. Unset limits need none. */
export function checksOf(
  owner: LimitOwner,
  limits: RateLimits,
  lengths: WindowLengths,
  keysOf: LimitKeys,
): LimitCheck[] {
  const rows: readonly (readonly [LimitKind, number | null, number])[] = [
    ['requests_per_second', limits.requestsPerSecond, lengths.secondMs],
    ['requests_per_minute', limits.requestsPerMinute, lengths.minuteMs],
    ['tokens_per_minute', limits.tokensPerMinute, lengths.minuteMs],
    ['concurrency', limits.concurrency, 0],
  ];
  const { scope } = owner;
  const prefix = keysOf(owner);
  return rows.flatMap(([kind, limit, windowMs]) =>
    limit === null ? [] : [{ scope, kind, limit, redisKey: `${prefix}${kind}`, windowMs }],
  );
}

/** All checks of one request, with derived values computed once. */
export interface LimitPlan {
  readonly checks: readonly LimitCheck[];
  /** Positions of the request windows and token windows that the headers report. */
  readonly shownRequests: readonly number[];
  readonly shownTokens: readonly number[];
  readonly tokenChecks: readonly LimitCheck[];
  readonly slotChecks: readonly LimitCheck[];
}

/**
 * Headers report only the limits of the key and the organization. The others would reveal the traffic of other
 * customers.
 */
export function planOf(checks: readonly LimitCheck[]): LimitPlan {
  const shown = (wanted: (kind: LimitKind) => boolean): number[] =>
    checks.flatMap(({ scope, kind }, index) =>
      (scope === 'key' || scope === 'organization') && wanted(kind) ? [index] : [],
    );
  return {
    checks,
    shownRequests: shown((kind) => kind === 'requests_per_second' || kind === 'requests_per_minute'),
    shownTokens: shown((kind) => kind === 'tokens_per_minute'),
    tokenChecks: checks.filter(({ kind }) => kind === 'tokens_per_minute'),
    slotChecks: checks.filter(({ kind }) => kind === 'concurrency'),
  };
}

const CODES: Readonly<Record<LimitKind, ErrorCode>> = {
  requests_per_second: 'rate_limited',
  requests_per_minute: 'rate_limited',
  tokens_per_minute: 'tokens_per_minute_exceeded',
  concurrency: 'concurrency_exceeded',
};
const WORDS: Readonly<Record<LimitKind, readonly [noun: string, rest: string]>> = {
  requests_per_second: ['request', 'per second'],
  requests_per_minute: ['request', 'per minute'],
  tokens_per_minute: ['token', 'per minute'],
  concurrency: ['request', 'in flight'],
};
const OWNERS: Readonly<Record<LimitScope, string>> = {
  key: 'of this API key',
  organization: 'of the organization',
  model: 'of the model',
  global: 'of this service',
};

/** Redis' verdict on one request. */
export interface Verdict {
  /** 0: admitted; n: refused by the n-th check of its plan; -1: a key in Redis cannot be read. */
  readonly refusedBy: number;
  /** Milliseconds until the refusing checks admit it. */
  readonly waitMs: number;
  /** Redis' clock, milliseconds since the epoch. */
  readonly nowMs: number;
  /** In a cluster, whose nodes have separate clocks: the time of each part of the plan, instead of `nowMs`. */
  readonly partTimesMs?: readonly number[];
  /** For check n, from 0: the remainder at `2n + 2`, milliseconds until the limit is fully free at `2n + 3`. */
  readonly row: readonly number[];
}

/** For example `1 request per second`. */
function describeLimit({ kind, limit }: LimitCheck): string {
  const [noun, rest] = WORDS[kind];
  return `${countOf(limit, noun)} ${rest}`;
}

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
export function limitReached(check: LimitCheck, waitMs: number): GatewayError {
  const { scope, kind, limit } = check;
  return new GatewayError(CODES[kind], `The limit ${OWNERS[scope]} is reached: ${describeLimit(check)}.`, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    details: { scope, limit, window: windowOf(kind) },
  });
}

/**
 * The 429 for a request whose estimate alone exceeds the limit, so that waiting does not help. The contract requires a
 * `Retry-After` on every 429; the smallest value makes clients give up soonest.
 */
function largerThanLimit(check: LimitCheck, tokens: number): GatewayError {
  const { scope, kind, limit } = check;
  const message =
    `The request is estimated at ${tokens} tokens, more than the limit ${OWNERS[scope]}: ${describeLimit(check)}. ` +
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

/** The state of one limit before a request. */
export interface LimitStanding {
  readonly scope: LimitScope;
  readonly kind: LimitKind;
  readonly limit: number;
  /** The remainder; `null` for limits of a model and of all callers, which would reveal the traffic of others. */
  readonly remaining: number | null;
  readonly wouldRefuse: boolean;
}

/** The predicted outcome of a request. */
export interface LimitOutlook {
  readonly limits: readonly LimitStanding[];
  /** The error that the client would get; `null`: the request would be admitted. */
  readonly refusal: GatewayError | null;
}

/** @param verdict of a dry run: the remainder includes the request itself, if it would be admitted */
export function limitStandings({ checks }: LimitPlan, { refusedBy, row }: Verdict, tokens: number): LimitStanding[] {
  const isLetIn = refusedBy === 0;
  return checks.map(({ scope, kind, limit }, index) => {
    const cost = kind === 'tokens_per_minute' ? tokens : 1;
    const left = row[2 * index + 2] as number;
    const remaining = isLetIn ? left + cost : left;
    const isOwn = scope === 'key' || scope === 'organization';
    const wouldRefuse = refusedBy === index + 1 || cost > remaining;
    return { scope, kind, limit, remaining: isOwn ? remaining : null, wouldRefuse };
  });
}
