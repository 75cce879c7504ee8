import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { CONNECT_TIMEOUT_MS, createDataSource } from './data-source';
import { driverErrorOf, isLockTimeout } from './driver-error';
import { MIGRATIONS } from './migrations';
import { onceReachable } from './once-reachable';
import { type Migration, readRoutines } from './migration-files';

/** An arbitrary id that no other program locks in the same database. */
const MIGRATION_LOCK_ID = 7_319_420_417;
/** While a migration waits for a table, every other statement on the table waits behind it. */
const LOCK_TIMEOUT_MS = 3_000;
const LOCK_ATTEMPTS = 10;
/** Between attempts, so that the statements that waited behind the migration finish. */
const PAUSE_MS = 1_000;

/**
 * Brings the database up to date and returns the names of the migrations that ran, oldest first. All of them and the
 * functions and views (migrations/README.md) are one transaction: a failed upgrade leaves the database as it was. An
 * advisory lock serializes replicas that start together; PostgreSQL releases it when its holder dies. The migration
 * makes several attempts to lock a table that others use.
 */
export async function runMigrations(url: string, migrations = MIGRATIONS): Promise<string[]> {
  return withMigrationLock(url, migrations, async (dataSource) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await applyPending(dataSource);
      } catch (error) {
        if (!isLockTimeout(driverErrorOf(error)) || attempt === LOCK_ATTEMPTS) throw error;
        await delay(PAUSE_MS);
      }
    }
  });
}

async function applyPending(dataSource: DataSource): Promise<string[]> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.startTransaction();
    await runner.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    const executor = new MigrationExecutor(dataSource, runner);
    await findPending(executor);
    const applied = await executor.executePendingMigrations();
    if (applied.length > 0) await replaceRoutines(runner);
    await runner.commitTransaction();
    return applied.map((migration) => migration.name);
  } catch (error) {
    // The first error names the cause; when the connection is lost, the server rolls back by itself.
    await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  } finally {
    await runner.release();
  }
}

async function replaceRoutines(runner: QueryRunner): Promise<void> {
  // Files are applied by name, and functions may use each other.
  await runner.query('SET LOCAL check_function_bodies = off');
  for (const routine of readRoutines()) {
    await runner.query(routine);
  }
}

/**
 * Names of the migrations that the database lacks, oldest first. Writes nothing, not even to an empty database.
 * @throws OldDatabaseError as {@link runMigrations} does
 */
export async function listPendingMigrations(url: string): Promise<string[]> {
  const dataSource = createDataSource({ url, poolSize: 1, migrations: MIGRATIONS });
  await onceReachable(() => dataSource.initialize());
  try {
    return await findPending(new MigrationExecutor(dataSource));
  } finally {
    await dataSource.destroy();
  }
}

async function findPending(executor: MigrationExecutor): Promise<string[]> {
  const applied = (await executor.getExecutedMigrations()).map(({ name }) => name);
  const pending = await executor.getPendingMigrations();
  pending.forEach(({ instance }) => (instance as Migration | undefined)?.requirePredecessors?.(applied));
  return pending.map(({ name }) => name);
}

/** Whether the database lacks a migration of this build; `/ready` reports this. */
export async function hasPendingMigrations(dataSource: DataSource): Promise<boolean> {
  return dataSource.showMigrations();
}

async function withMigrationLock<Result>(
  url: string,
  migrations: typeof MIGRATIONS,
  work: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  const lockClient = await onceReachable(() => connectClient(url));
  try {
    await lockClient.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK_ID]);
    const dataSource = createDataSource({ url, poolSize: 2, statementTimeoutMs: 0, migrations });
    await onceReachable(() => dataSource.initialize());
    try {
      return await work(dataSource);
    } finally {
      await dataSource.destroy();
    }
  } finally {
    await lockClient.end();
  }
}

async function connectClient(url: string): Promise<Client> {
  const client = new Client({
    connectionString: url,
    application_name: 'gateway migrations',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    // Waits for the advisory lock as long as another process migrates, whatever limits the role has.
    options: '-c statement_timeout=0 -c lock_timeout=0',
  });
  await client.connect();
  return client;
}
