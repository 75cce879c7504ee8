import { setTimeout as delay } from 'node:timers/promises';
import { QueryFailedError } from 'typeorm';
import { isDatabaseUnavailable } from './database-outage';

/** How long to wait for a server that starts together with the gateway or is briefly unavailable. */
const MAX_WAIT_MS = 5_000;
const RETRY_MS = 100;

/** PostgreSQL cannot be reached, or refuses the connection. The message is for operators. */
export class DatabaseConnectionError extends Error {
  override readonly name = 'DatabaseConnectionError';

  constructor(cause: unknown) {
    super(`Cannot connect to PostgreSQL: ${reasonOf(cause)}. Check DATABASE_URL and DATABASE_DIRECT_URL.`, { cause });
  }
}

/** For a host with several addresses, joins the errors of all: their `AggregateError` has no message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/**
 * Connects at startup, with retries.
 * @throws DatabaseConnectionError when the database stays unavailable, and immediately when it refuses the connection
 */
export async function onceReachable<Connection>(connect: () => Promise<Connection>): Promise<Connection> {
  const deadline = AbortSignal.timeout(MAX_WAIT_MS);
  for (;;) {
    try {
      return await connect();
    } catch (error) {
      if (deadline.aborted || !isDatabaseUnavailable(error)) {
        throw error instanceof QueryFailedError ? error : new DatabaseConnectionError(error);
      }
      await delay(RETRY_MS);
    }
  }
}
