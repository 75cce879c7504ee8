import { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { CONNECT_TIMEOUT_MS, createDataSource } from './data-source';
import { onceReachable } from './once-reachable';

/** An arbitrary constant that no other program locks in the same database. */
const MIGRATION_LOCK_ID = 7_319_420_417;

/**
 * Brings the database up to date and returns the names of the migrations that ran, oldest first. An advisory lock
 * serializes replicas that start together; PostgreSQL releases it when its holder dies. Each migration runs in its own
 * transaction, so a failed one leaves the earlier ones applied.
 */
export async function runMigrations(url: string): Promise<string[]> {
  return withMigrationLock(url, async (dataSource) => {
    const migrations = await dataSource.runMigrations();
    return migrations.map((migration) => migration.name);
  });
}

/** Undoes the newest `count` migrations, newest first. */
export async function revertMigrations(url: string, count: number): Promise<void> {
  await withMigrationLock(url, async (dataSource) => {
    for (let reverted = 0; reverted < count; reverted += 1) {
      await dataSource.undoLastMigration();
    }
  });
}

/** Whether the database lacks a migration that this build knows; what `/ready` reports. */
export async function hasPendingMigrations(dataSource: DataSource): Promise<boolean> {
  return dataSource.showMigrations();
}

async function withMigrationLock<Result>(url: string, work: (dataSource: DataSource) => Promise<Result>) {
  const lockClient = await onceReachable(() => connectClient(url));
  try {
    await lockClient.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK_ID]);
    const dataSource = createDataSource({ url, poolSize: 2, statementTimeoutMs: 0 });
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
  });
  await client.connect();
  return client;
}
