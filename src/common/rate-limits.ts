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
