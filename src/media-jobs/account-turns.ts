import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';

/** Longer than one that waits for a row that somebody holds (money design: a second), so that the next one finds out too. */
const PATIENCE_MS = 1_500;

/**
 * Has the statements about one account take turns. In the database they would wait for one another all the same, but each
 * with a connection that other organizations need: one that is held up would hold up all.
 */
export class AccountTurns {
  /** Resolves at the end of the last in the row, however it ends. */
  private readonly last = new Map<string, Promise<unknown>>();

  constructor(private readonly clock: Clock) {}

  /** @throws GatewayError `service_unavailable` when the turn comes too late */
  async run<Result>(organizationId: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.last.get(organizationId);
    const turn = before === undefined ? work() : this.after(before, work);
    const end = turn.catch(() => undefined);
    this.last.set(organizationId, end);
    try {
      return await turn;
    } finally {
      if (this.last.get(organizationId) === end) this.last.delete(organizationId);
    }
  }

  private async after<Result>(before: Promise<unknown>, work: () => Promise<Result>): Promise<Result> {
    const sinceMs = this.clock.monotonic();
    await before;
    if (this.clock.monotonic() - sinceMs <= PATIENCE_MS) return work();
    throw new GatewayError('service_unavailable', 'Too much is going on in this organization.', {
      retryAfterSeconds: 1,
    });
  }
}
