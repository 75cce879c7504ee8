import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { listPendingMigrations, runMigrations } from './run-migrations';

export interface SchemaAtStart {
  readonly databaseUrl: string;
  /** Apply pending migrations; otherwise wait until another process has applied them. */
  readonly migrate: boolean;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** Ends the wait. */
  readonly stopSignal: Promise<unknown>;
}

const CHECK_AGAIN_AFTER_MS = 1_000;
/** An empty database lacks every migration. */
const MAX_LOGGED_NAMES = 5;

/**
 * Brings the schema up to date, or waits until another process has: a process must not serve on an older schema. While
 * it waits, it is not ready and listens only on the management port.
 * @returns `false` when the stop signal came first
 */
export async function ensureSchema({ databaseUrl, migrate, logger, stopSignal }: SchemaAtStart): Promise<boolean> {
  if (migrate) {
    await runMigrations(databaseUrl);
    return true;
  }
  let isWaiting = false;
  for (;;) {
    const pending = await listPendingMigrations(databaseUrl);
    if (pending.length === 0) {
      if (isWaiting) logger.info({ event: 'migrations_applied' }, 'the database is up to date');
      return true;
    }
    if (!isWaiting) {
      logger.warn(
        { event: 'migrations_pending', count: pending.length, names: pending.slice(0, MAX_LOGGED_NAMES) },
        'MIGRATE_ON_START is false and migrations are pending: not ready until "gateway migrate" has applied them',
      );
    }
    isWaiting = true;
    if (await Promise.race([stopSignal.then(() => true), delay(CHECK_AGAIN_AFTER_MS, false)])) return false;
  }
}
