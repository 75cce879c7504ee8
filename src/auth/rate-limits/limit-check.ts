import type { RateLimits } from '../../core/types/rate-limits';

export type LimitScope = 'key' | 'organization' | 'model' | 'global';
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
  scope: LimitScope,
  id: string,
  limits: RateLimits,
  lengths: WindowLengths,
  keyPrefix: string,
): LimitCheck[] {
  const rows: readonly (readonly [LimitKind, number | null, number])[] = [
    ['requests_per_second', limits.requestsPerSecond, lengths.secondMs],
    ['requests_per_minute', limits.requestsPerMinute, lengths.minuteMs],
    ['tokens_per_minute', limits.tokensPerMinute, lengths.minuteMs],
    ['concurrency', limits.concurrency, 0],
  ];
  return rows.flatMap(([kind, limit, windowMs]) =>
    limit === null ? [] : [{ scope, kind, limit, redisKey: `${keyPrefix}${scope}:${id}:${kind}`, windowMs }],
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
