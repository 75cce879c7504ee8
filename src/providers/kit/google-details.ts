import { isJsonObject } from './json';

const LONGEST_RETRY_AFTER_SECONDS = 3_600;

export interface GoogleDetails {
  readonly reason?: string;
  readonly retryAfterSeconds?: number;
}

/**
 * Reads the reason and the retry delay from the `details` of a `google.rpc.Status` (https://google.aip.dev/193). For a
 * daily quota Google may state a delay of seconds although the quota resets at midnight.
 */
export function readGoogleDetails(details: unknown): GoogleDetails {
  if (!Array.isArray(details)) return {};
  const known = (details as readonly unknown[]).filter(isJsonObject);
  const waits = known.map(({ retryDelay, violations }) =>
    hasDailyQuota(violations) ? LONGEST_RETRY_AFTER_SECONDS : Number.parseFloat(String(retryDelay)),
  );
  const seconds = Math.min(Math.ceil(Math.max(0, ...waits.filter(Number.isFinite))), LONGEST_RETRY_AFTER_SECONDS);
  return {
    reason: known.map(({ reason }) => (typeof reason === 'string' ? reason : '')).join(' '),
    ...(seconds > 0 && { retryAfterSeconds: seconds }),
  };
}

function hasDailyQuota(violations: unknown): boolean {
  return (
    Array.isArray(violations) &&
    violations.some((violation) => isJsonObject(violation) && String(violation['quotaId']).includes('PerDay'))
  );
}
