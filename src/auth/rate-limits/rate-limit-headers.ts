import type { LimitPlan } from './limit-check';

type RateLimitHeaders = Readonly<Record<string, string>>;

const REQUESTS = namesOf('requests');
const TOKENS = namesOf('tokens');

/**
 * `x-ratelimit-*`: of several request limits, or token limits, the one with the least left.
 * @param row per check of the plan: the remainder at `2n + 2`, milliseconds until all of it is at `2n + 3`.
 * @param ageMs of the row.
 */
export function rateLimitHeaders(plan: LimitPlan, row: readonly number[], ageMs = 0): RateLimitHeaders {
  const headers: Record<string, string> = {};
  addTightest(headers, REQUESTS, plan, plan.shownRequests, row, ageMs);
  addTightest(headers, TOKENS, plan, plan.shownTokens, row, ageMs);
  return headers;
}

function addTightest(
  headers: Record<string, string>,
  names: typeof REQUESTS,
  { checks }: LimitPlan,
  positions: readonly number[],
  row: readonly number[],
  ageMs: number,
): void {
  let tightest = -1;
  let left = Number.POSITIVE_INFINITY;
  let resetMs = 0;
  for (const position of positions) {
    const remaining = row[2 * position + 2] as number;
    const reset = row[2 * position + 3] as number;
    if (remaining > left || (remaining === left && reset <= resetMs)) continue;
    tightest = position;
    left = remaining;
    resetMs = reset;
  }
  const check = checks[tightest];
  if (check === undefined) return;
  headers[names.limit] = String(check.limit);
  headers[names.remaining] = String(left);
  headers[names.reset] = formatDuration(Math.max(0, resetMs - ageMs));
}

/** Built once: concatenating names per response costs more than setting the values. */
function namesOf(unit: 'requests' | 'tokens') {
  return {
    limit: `x-ratelimit-limit-${unit}`,
    remaining: `x-ratelimit-remaining-${unit}`,
    reset: `x-ratelimit-reset-${unit}`,
  };
}

/** Whole seconds, rounded up, as clients of the chat-completion format read them: `0s`, `6s`, `1m0s`. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.ceil(durationMs / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
