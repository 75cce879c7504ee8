/** How fast requests may come. Of a key, of an organization, of a model, or of everybody; `null`: no such limit. */
export interface RateLimits {
  readonly requestsPerSecond: number | null;
  readonly requestsPerMinute: number | null;
  /** Prompt and output together: estimated when a request is let in, corrected when it has ended. */
  readonly tokensPerMinute: number | null;
  /** Requests in flight. */
  readonly concurrency: number | null;
}

export const NO_LIMITS: RateLimits = {
  requestsPerSecond: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
};

/** How replies, bodies and the audit log name them. */
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
