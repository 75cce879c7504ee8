import type { Clock } from '../../core/time/clock';

const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * The one timer of an upstream call. Extending the limit, which a stream does at every read, only stores a number: the
 * timer checks it when it fires and sleeps for the rest.
 */
export class CallDeadline {
  private readonly totalDueMs: number;
  private dueMs = Infinity;
  private timer: NodeJS.Timeout | undefined;
  private timerDueMs = Infinity;

  /** @param totalMs limit of the whole call, which no later limit exceeds */
  constructor(
    private readonly clock: Clock,
    totalMs: number,
    private readonly onExpired: () => void,
  ) {
    this.totalDueMs = clock.monotonic() + totalMs;
  }

  /** Replaces the current limit: the call now ends `limitMs` from now. `Infinity` leaves only the total limit. */
  set(limitMs: number): void {
    const now = this.clock.monotonic();
    this.dueMs = Math.min(now + limitMs, this.totalDueMs);
    if (this.dueMs < this.timerDueMs) this.schedule(now);
  }

  clear(): void {
    clearTimeout(this.timer);
    this.timerDueMs = -Infinity;
  }

  private schedule(now: number): void {
    clearTimeout(this.timer);
    this.timerDueMs = this.dueMs;
    const delayMs = Math.min(Math.max(1, Math.ceil(this.dueMs - now)), LONGEST_TIMEOUT_MS);
    // The call's connection keeps the process alive; the timer must not.
    this.timer = setTimeout(this.onTimer, delayMs).unref();
  }

  private readonly onTimer = (): void => {
    const now = this.clock.monotonic();
    if (now < this.dueMs) this.schedule(now);
    else this.onExpired();
  };
}
