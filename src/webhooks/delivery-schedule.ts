import type { WebhookAnswer } from '../outbound/outbound-client';
import type { OutboundError } from '../outbound/outbound-error';
import type { AttemptOutcome, NextStep } from './webhook.types';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Between an attempt and the next (decision *webhook-retries*): 27 hours and 35 minutes together, eight attempts. */
const PAUSES_MS = [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS];
/** Of the pause, to either side: receivers that were away for many are not called by all of them at once. */
const JITTER = 0.1;
const GONE = 410;
/** Whoever answers so may say when to come back. */
const BUSY: ReadonlySet<number> = new Set([429, 503]);

/** What an answer, or none, means for the receiver's log. */
export function toOutcome(result: WebhookAnswer | OutboundError): AttemptOutcome {
  if (result instanceof Error) {
    return { status: null, error: result.fault === 'blocked' ? 'address_blocked' : 'unreachable' };
  }
  const { status } = result;
  if (status >= 200 && status < 300) return { status, error: null };
  return { status, error: status === GONE ? 'gone' : 'rejected' };
}

/**
 * @param attempt the number of the one that has just ended, from 1, since the delivery was last sent again
 * @param retryAfterSeconds of the answer; heeded where the receiver is busy, and only to wait longer
 * @param random from 0 to 1
 */
export function nextStep(
  { status, error }: AttemptOutcome,
  attempt: number,
  retryAfterSeconds: number | null,
  random: number,
): NextStep {
  if (error === null) return { state: 'delivered' };
  if (error === 'gone') return { state: 'gone' };
  const pauseMs = PAUSES_MS[attempt - 1];
  if (pauseMs === undefined) return { state: 'exhausted' };
  const scheduledMs = pauseMs * (1 + JITTER * (2 * random - 1));
  const wishedMs = status !== null && BUSY.has(status) ? (retryAfterSeconds ?? 0) * SECOND_MS : 0;
  return { state: 'pending', retryInMs: Math.round(Math.max(scheduledMs, wishedMs)) };
}
