import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '../../core/time/clock';
import type { CallLimits } from '../contract/provider-call';
import { ProviderError, type ProviderErrorCode } from '../contract/provider-error';
import { cancellation, deadlineFailure } from './upstream-errors';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 3_000;
const PAUSE_GROWTH = 1.5;
/** A poll that takes longer is repeated. */
const POLL_TIMEOUT_MS = 15_000;
/** After this many refused polls in a row, the work counts as lost. */
const MAX_REFUSALS = 3;
/** Failures of a poll that say nothing about the work. */
const TRANSIENT: ReadonlySet<ProviderErrorCode> = new Set([
  'provider_unavailable',
  'provider_rate_limited',
  'provider_timeout',
  'provider_disconnect',
]);

/** Time limits for work that takes several exchanges, which together get as much time as a single call. */
export class SharedDeadline {
  private readonly dueMs: number;

  constructor(
    private readonly call: CallLimits,
    private readonly clock: Clock = systemClock,
  ) {
    const { firstTokenMs, totalMs } = call.deadlines;
    this.dueMs = clock.monotonic() + Math.min(firstTokenMs, totalMs);
  }

  get isAborted(): boolean {
    return this.call.signal.aborted;
  }

  private get leftMs(): number {
    return this.dueMs - this.clock.monotonic();
  }

  /** The limits of the next exchange. @throws ProviderError `provider_timeout` when the time is up */
  next(limitMs = Infinity): CallLimits {
    const leftMs = Math.min(this.leftMs, limitMs);
    if (leftMs <= 0) throw deadlineFailure('first_token');
    const { signal, deadlines } = this.call;
    return { signal, deadlines: { ...deadlines, firstTokenMs: leftMs, totalMs: leftMs } };
  }

  /** @throws ProviderError when the call is aborted meanwhile, or `provider_timeout` when the time is up first */
  async pause(durationMs: number): Promise<void> {
    if (durationMs >= this.leftMs) throw deadlineFailure('first_token');
    const { signal } = this.call;
    await delay(durationMs, undefined, { signal }).catch(() => {
      throw cancellation('first_token', signal.reason);
    });
  }
}

/**
 * Polls for the result of work that an upstream has accepted. A failed poll does not fail the work, which continues and
 * is billed.
 * @param poll resolves with `null` while the work is not finished
 * @throws ProviderError that allows no other attempt, since the work may have been done
 */
export async function awaitResult<Result>(
  deadline: SharedDeadline,
  poll: (limits: CallLimits) => Promise<Result | null>,
): Promise<Result> {
  let refusals = 0;
  let pauseMs = FIRST_PAUSE_MS;
  let waitMs = FIRST_PAUSE_MS;
  try {
    for (;;) {
      await deadline.pause(waitMs);
      const answer = await poll(deadline.next(POLL_TIMEOUT_MS)).catch((error: unknown) => failureOf(error, deadline));
      if (answer instanceof ProviderError) {
        if (!TRANSIENT.has(answer.code) && ++refusals === MAX_REFUSALS) throw answer;
      } else if (answer !== null) {
        return answer;
      } else {
        refusals = 0;
      }
      pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS);
      waitMs = answer instanceof ProviderError ? Math.max(pauseMs, retryAfterMs(answer)) : pauseMs;
    }
  } catch (error) {
    throw error instanceof ProviderError ? afterAcceptance(error) : error;
  }
}

/** The failure of a poll. @throws the error itself when the work has failed or the call has ended */
function failureOf(error: unknown, { isAborted }: SharedDeadline): ProviderError {
  if (!(error instanceof ProviderError) || isAborted) throw error;
  if (!TRANSIENT.has(error.code) && error.options.upstream?.status === undefined) throw error;
  return error;
}

function retryAfterMs({ options }: ProviderError): number {
  return (options.retryAfterSeconds ?? 0) * 1_000;
}

/** The error for a failure of accepted work, after which no other attempt may follow. */
function afterAcceptance({ code, message, options }: ProviderError): ProviderError {
  const isFinal = code === 'validation_failed';
  return new ProviderError(code, message, {
    ...options,
    phase: 'first_token',
    fallback: false,
    retrySame: false,
    ...(!isFinal && { outcomeUnknown: true }),
    upstream: { ...options.upstream, status: undefined },
  });
}
