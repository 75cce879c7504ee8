import type { Clock } from './clock';
import { GatewayError } from './errors/gateway-error';

/** Longer than one that waits for a row that somebody holds (money design: a second), so that the next one finds out too. */
const PATIENCE_MS = 1_500;
/** A statement that takes so long has waited for somebody; a queue of quicker ones is long, but it moves. */
const HELD_UP_MS = 500;

/**
 * Has the statements about one account, or about another row that each of them locks, take turns. In the database they
 * would wait for one another all the same, but each with a connection that other organizations need: one that is held up
 * would hold up all.
 */
export class AccountTurns {
  /** Resolves at the end of the last in the row, however it ends, with the milliseconds of the last turn that was taken. */
  private readonly last = new Map<string, Promise<number>>();

  constructor(private readonly clock: Clock) {}

  /** @throws GatewayError `service_unavailable` when the account is held up, and the turn comes too late */
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
      // Whoever was refused passes on what it was refused for.
      end.resolve(lastTurnMs);
      if (this.last.get(accountId) === end.promise) this.last.delete(accountId);
    }
  }
}

function tooLate(): GatewayError {
  return new GatewayError('service_unavailable', 'Too much is going on in this organization.', {
    retryAfterSeconds: 1,
  });
}
