/**
 * What may be tried again after a failure (src/routing/README.md has the table). Pure.
 */
import type { ProviderError } from '../providers/contract/provider-error';

/** A failure that took longer is not worth a second wait at the same place while another one is left. */
const QUICK_FAILURE_MS = 1_000;
/** Longer than this, a client had better be told. */
const LONGEST_PAUSE_MS = 2_000;
const PAUSE_MS = { least: 50, most: 250 };

/** Refused by ourselves before anything was sent: the deployment lacks what is asked for, and another may have it. */
export function isUnsupported({ code, options }: ProviderError): boolean {
  return code === 'validation_failed' && options.phase === 'connect';
}

/** Whether another deployment may be asked. */
export function mayFallBack(error: ProviderError, atMostOnce: boolean): boolean {
  if (isUnsupported(error)) return true;
  return error.options.fallback && (!atMostOnce || wasNotBegun(error));
}

/** Whether the same deployment may be asked once more, given how long it took to fail. */
export function mayRetry(error: ProviderError, tookMs: number, isLast: boolean, atMostOnce: boolean): boolean {
  const { retrySame, retryAfterSeconds = 0 } = error.options;
  if (retrySame !== true || (atMostOnce && !wasNotBegun(error))) return false;
  if (retryAfterSeconds * 1000 > LONGEST_PAUSE_MS) return false;
  return isLast || tookMs <= QUICK_FAILURE_MS;
}

/** How long to wait before the next call to the same provider: what it asks for, or a moment that differs for all. */
export function pauseMs({ options }: ProviderError, random: () => number): number {
  if (options.retryAfterSeconds !== undefined) return Math.min(options.retryAfterSeconds * 1000, LONGEST_PAUSE_MS);
  return PAUSE_MS.least + random() * (PAUSE_MS.most - PAUSE_MS.least);
}

/** The request never left, or the upstream has said in so many words that it does not take it. */
export function wasNotBegun({ options }: ProviderError): boolean {
  const status = options.upstream?.status ?? 0;
  return options.phase === 'connect' || (status >= 400 && status < 500 && status !== 408);
}
