import type { WebhookAnswer } from '../core/outbound/outbound-client';
import type { OutboundError } from '../core/outbound/outbound-error';
import type { AttemptOutcome, NextStep } from './webhook.types';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Pauses between the eight attempts: 27 h 35 min in total. */
const PAUSES_MS = [5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS];
/** Random fraction of the pause, in both directions, which spreads the retries to a receiver after an outage. */
const JITTER = 0.1;
const GONE = 410;
/** Statuses whose `Retry-After` is honored. */
const BUSY: ReadonlySet<number> = new Set([429, 503]);

/** Maps a response or an outbound error to the outcome in the delivery log. */
export function toOutcome(result: WebhookAnswer | OutboundError): AttemptOutcome {
  if (result instanceof Error) {
    return { status: null, error: result.fault === 'blocked' ? 'address_blocked' : 'unreachable' };
  }
  const { status } = result;
  if (status >= 200 && status < 300) return { status, error: null };
  return { status, error: status === GONE ? 'gone' : 'rejected' };
}

/**
 * @param attempt number of the attempt that has just ended, from 1, in the current round
 * @param retryAfterSeconds from the response; honored for 429 and 503, and only to wait longer
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
