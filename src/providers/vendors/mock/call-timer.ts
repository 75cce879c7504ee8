import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../core/time/clock';
import type { ProviderCall } from '../../contract/provider-call';
import type { ProviderPhase } from '../../contract/provider-error';
import { cancellation, deadlineFailure } from '../../kit/upstream-errors';

const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** Waits of one call: each ends early with an error when the call is aborted or one of its deadlines passes. */
export class CallTimer {
  private readonly startedAtMs: number;

  constructor(
    private readonly call: ProviderCall,
    private readonly clock: Clock,
  ) {
    this.startedAtMs = clock.monotonic();
  }

  /**
   * Waits for `durationMs`, like a silent upstream; `Infinity` waits for the deadline.
   * @throws ProviderError of the deadline that passes, or `provider_disconnect` once the call is aborted.
   */
  async wait(durationMs: number, phase: ProviderPhase): Promise<void> {
    const leftMs = Math.min(this.silenceLeftMs(phase), this.totalLeftMs());
    await this.sleep(Math.min(durationMs, leftMs), phase, this.call.signal);
    if (durationMs >= leftMs) {
      throw deadlineFailure(phase);
    }
  }

  /**
   * One iteration of the event loop, so that a response without delays neither starves others nor arrives as one piece.
   */
  async nextIteration(phase: ProviderPhase): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.check(phase);
    if (this.totalLeftMs() <= 0) {
      throw deadlineFailure(phase);
    }
  }

  /** Waits for the receiver. Back-pressure is not upstream silence, so only the total limit applies. */
  async waitFor(receiver: Promise<void>, phase: ProviderPhase): Promise<void> {
    const ready = new AbortController();
    const expiry = this.sleep(this.totalLeftMs(), phase, AbortSignal.any([this.call.signal, ready.signal]));
    try {
      await Promise.race([
        receiver,
        expiry.then(() => {
          throw deadlineFailure(phase);
        }),
      ]);
    } finally {
      ready.abort();
    }
    this.check(phase);
  }

  /** @throws ProviderError when the call has been aborted. */
  check(phase: ProviderPhase): void {
    if (this.call.signal.aborted) {
      throw cancellation(phase, this.call.signal.reason);
    }
  }

  private async sleep(durationMs: number, phase: ProviderPhase, signal: AbortSignal): Promise<void> {
    try {
      await delay(Math.min(Math.max(durationMs, 0), LONGEST_TIMEOUT_MS), undefined, { signal });
    } catch (error) {
      throw cancellation(phase, error);
    }
  }

  private silenceLeftMs(phase: ProviderPhase): number {
    const { idleMs, firstTokenMs } = this.call.deadlines;
    return phase === 'stream' ? idleMs : this.startedAtMs + firstTokenMs - this.clock.monotonic();
  }

  private totalLeftMs(): number {
    return this.startedAtMs + this.call.deadlines.totalMs - this.clock.monotonic();
  }
}
