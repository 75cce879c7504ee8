/** The retry and fallback rules (table: src/models/routing/README.md). Pure functions. */
import type { ProviderError } from '../providers/contract/provider-error';

/** After a slower failure, the next deployment is tried instead of retrying the same one. */
const QUICK_FAILURE_MS = 1_000;
/** A longer `Retry-After` is returned to the client; the gateway does not wait for it. */
const MAX_PAUSE_MS = 2_000;
const PAUSE_MS = { least: 50, most: 250 };

/** Refused by the gateway before sending: the deployment lacks a feature that another may have. */
export function isUnsupported({ code, options }: ProviderError): boolean {
  return code === 'validation_failed' && options.phase === 'connect';
}

/** Whether another deployment may be called. */
export function mayFallBack(error: ProviderError, atMostOnce: boolean): boolean {
  if (isUnsupported(error) || needsOtherModel(error)) return true;
  return error.options.fallback && (!atMostOnce || wasNotBegun(error));
}

/** Whether only deployments of other models remain: the request is too long for this model. */
export function needsOtherModel({ options }: ProviderError): boolean {
  return !options.fallback && options.otherModel === true;
}

/** Whether the same deployment may be retried once, given how long it took to fail. */
export function mayRetry(error: ProviderError, tookMs: number, isLast: boolean, atMostOnce: boolean): boolean {
  const { retrySame, retryAfterSeconds = 0 } = error.options;
  if (retrySame !== true || (atMostOnce && !wasNotBegun(error))) return false;
  if (retryAfterSeconds * 1000 > MAX_PAUSE_MS) return false;
  return isLast || tookMs <= QUICK_FAILURE_MS;
}

/** Delay before the next call to the same provider: its `Retry-After`, or a random backoff. */
export function pauseMs({ options }: ProviderError, random: () => number): number {
  if (options.retryAfterSeconds !== undefined) return Math.min(options.retryAfterSeconds * 1000, MAX_PAUSE_MS);
  return PAUSE_MS.least + random() * (PAUSE_MS.most - PAUSE_MS.least);
}

/** The request was never sent, or the upstream rejected it with a 4xx other than 408. */
export function wasNotBegun({ options }: ProviderError): boolean {
  const status = options.upstream?.status ?? 0;
  return options.phase === 'connect' || (status >= 400 && status < 500 && status !== 408);
}
