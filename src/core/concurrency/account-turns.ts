import type { Clock } from '../time/clock';
import { GatewayError } from '../errors/gateway-error';

/** Longer than the lock timeout (money design: one second), so that the next statement detects a locked row too. */
const PATIENCE_MS = 1_500;
/** A statement this slow has waited for a lock; a queue of faster ones is long but makes progress. */
const HELD_UP_MS = 500;

/**
 * Serializes the statements that lock the same row, such as one account. In the database they would wait for each other
 * anyway, but each would occupy a connection: one locked account would block all organizations.
 */
export class AccountTurns {
  /** Resolves when the last queued task ends, with the duration in milliseconds of the last task that ran. */
  private readonly last = new Map<string, Promise<number>>();

  constructor(private readonly clock: Clock) {}

  /** @throws GatewayError `service_unavailable` when the account is locked and the wait is too long */
  async run<Result>(accountId: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(accountId);
    const end = Promise.withResolvers<number>();
    this.last.set(accountId, end.promise);
    let lastTurnMs = 0;
    try {
      if (before !== undefined) {
        const waitingSinceMs = this.clock.monotonic();
        lastTurnMs = await before;
        if (lastTurnMs >= HELD_UP_MS && this.clock.monotonic() - waitingSinceMs > PATIENCE_MS) throw tooLate();
      }
      const sinceMs = this.clock.monotonic();
      try {
        return await work();
      } finally {
        lastTurnMs = this.clock.monotonic() - sinceMs;
      }
    } finally {
      // A rejected task passes the duration on to the next one.
      end.resolve(lastTurnMs);
      if (this.last.get(accountId) === end.promise) this.last.delete(accountId);
    }
  }
}

function tooLate(): GatewayError {
  return new GatewayError(
    'service_unavailable',
    'Too many concurrent operations in this organization. Retry shortly.',
    {
      retryAfterSeconds: 1,
    },
  );
}
