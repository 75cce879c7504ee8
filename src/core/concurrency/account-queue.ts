import type { Clock } from '../time/clock';
import { GatewayError } from '../errors/gateway-error';

/** Longer than the lock timeout (one second), so that the next statement detects a locked row too. */
const MAX_WAIT_MS = 1_500;
/** A slower statement has waited for a lock. A queue of faster statements makes progress, however long it is. */
const BLOCKED_MS = 500;

/**
 * Serializes the statements that lock the same row, such as one account. In the database they would wait for each other
 * anyway, but each would occupy a connection: one locked account would block all organizations.
 */
export class AccountQueue {
  /** Resolves when the last queued task ends, with the duration in milliseconds of the last task that ran. */
  private readonly last = new Map<string, Promise<number>>();

  constructor(private readonly clock: Clock) {}

  /** @throws GatewayError `service_unavailable` when the account is locked and the wait is too long */
  async runExclusive<Result>(accountId: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(accountId);
    const end = Promise.withResolvers<number>();
    this.last.set(accountId, end.promise);
    let lastDurationMs = 0;
    try {
      if (before !== undefined) {
        const waitingSinceMs = this.clock.monotonic();
        lastDurationMs = await before;
        if (lastDurationMs >= BLOCKED_MS && this.clock.monotonic() - waitingSinceMs > MAX_WAIT_MS)
          throw waitedTooLong();
      }
      const sinceMs = this.clock.monotonic();
      try {
        return await work();
      } finally {
        lastDurationMs = this.clock.monotonic() - sinceMs;
      }
    } finally {
      // A rejected task passes the duration on to the next one.
      end.resolve(lastDurationMs);
      if (this.last.get(accountId) === end.promise) this.last.delete(accountId);
    }
  }
}

function waitedTooLong(): GatewayError {
  return new GatewayError(
    'service_unavailable',
    'Too many concurrent operations in this organization. Retry shortly.',
    {
      retryAfterSeconds: 1,
    },
  );
}
