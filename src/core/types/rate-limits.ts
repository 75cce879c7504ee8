/** Rate limits of a key, an organization, a model or all callers; `null`: no such limit. */
export interface RateLimits {
  readonly requestsPerSecond: number | null;
  readonly requestsPerMinute: number | null;
  /** Prompt and output together: estimated at admission, corrected at the end of the request. */
  readonly tokensPerMinute: number | null;
  /** Requests in flight. */
  readonly concurrency: number | null;
}

/** The highest limit: the maximum of the `integer` columns. */
export const MAX_RATE_LIMIT = 2_147_483_647;

export const NO_LIMITS: RateLimits = {
  requestsPerSecond: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
};

/** The names of the limits in responses, request bodies and the audit log. */
export const RATE_LIMIT_FIELDS = {
  requestsPerSecond: 'requests_per_second',
  requestsPerMinute: 'requests_per_minute',
  tokensPerMinute: 'tokens_per_minute',
  concurrency: 'concurrency',
} as const satisfies Record<keyof RateLimits, string>;

export interface RateLimitFields {
  readonly requests_per_second: number | null;
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly concurrency: number | null;
}

export function toRateLimitFields(limits: RateLimits | null): RateLimitFields {
  const { requestsPerSecond, requestsPerMinute, tokensPerMinute, concurrency } = limits ?? NO_LIMITS;
  return {
    requests_per_second: requestsPerSecond,
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrency,
  };
}
