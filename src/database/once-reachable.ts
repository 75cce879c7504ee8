import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseAway } from './database-away';

/** Servers that start together with the gateway, or answer nobody for a moment, are worth so much waiting. */
const PATIENCE_MS = 5_000;
const RETRY_MS = 100;

/**
 * Connects at a start, when nobody has been promised a quick refusal yet.
 * @throws Error of the last attempt, when the database is away for longer, and at once when it is there and refuses
 */
export async function onceReachable<Connection>(connect: () => Promise<Connection>): Promise<Connection> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if (patience.aborted || !isDatabaseAway(error)) throw error;
      await delay(RETRY_MS);
    }
  }
}
