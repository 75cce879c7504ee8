import type { Clock } from '../time/clock';

/** Minimum interval between log lines about the same failure of the same object. */
const REPEAT_EVERY_MS = 600_000;
/** Bounds the memory. When it is full, all failures are forgotten, so they are logged once more. */
const MAX_FAILURES = 10_000;

/**
 * Keeps work that is retried until it succeeds from logging the same failure at every retry. `StormGuard` does not do
 * this: it counts all lines of an event, whatever object they concern.
 */
export class RepeatGuard {
  /** When each failure was logged, in milliseconds of the monotonic clock. */
  private readonly loggedAtMs = new Map<string, number>();

  constructor(private readonly clock: Pick<Clock, 'monotonic'>) {}

  /**
   * Whether to log a failure: the first time, and again after ten minutes.
   * @param id of the object that is retried
   * @param cause what failed; another cause is another failure
   */
  admit(id: string, cause: string): boolean {
    const failure = `${id} ${cause}`;
    const nowMs = this.clock.monotonic();
    if (nowMs - (this.loggedAtMs.get(failure) ?? -Infinity) < REPEAT_EVERY_MS) return false;
    if (this.loggedAtMs.size >= MAX_FAILURES) this.loggedAtMs.clear();
    this.loggedAtMs.set(failure, nowMs);
    return true;
  }
}
