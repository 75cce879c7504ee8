import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseUnavailable } from './database-outage';

/** How long to wait for servers that start together with the gateway or are briefly unavailable. */
const MAX_WAIT_MS = 5_000;
const RETRY_MS = 100;

/**
 * Connects at startup, with retries.
 * @throws Error of the last attempt, when the database stays unavailable, and immediately when it refuses the
 *   connection
 */
export async function onceReachable<Connection>(connect: () => Promise<Connection>): Promise<Connection> {
  const deadline = AbortSignal.timeout(MAX_WAIT_MS);
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if (deadline.aborted || !isDatabaseUnavailable(error)) throw error;
      await delay(RETRY_MS);
    }
  }
}
