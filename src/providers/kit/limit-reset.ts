const LONGEST_SECONDS = 3_600;
const LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens'];

/**
 * Seconds until all exhausted limits are replenished, from the `anthropic-ratelimit-*` headers
 * (https://platform.claude.com/docs/en/api/rate-limits#response-headers); `undefined` when no limit is exhausted.
 * @param now milliseconds since the epoch
 */
export function limitReset(headers: Readonly<Record<string, unknown>>, now: number): number | undefined {
  const resets = LIMITS.filter((limit) => headers[`anthropic-ratelimit-${limit}-remaining`] === '0')
    .map((limit) => Date.parse(String(headers[`anthropic-ratelimit-${limit}-reset`])))
    .filter(Number.isFinite);
  if (resets.length === 0) return undefined;
  return Math.min(Math.max(1, Math.ceil((Math.max(...resets) - now) / 1000)), LONGEST_SECONDS);
}
