import { Client } from 'pg';
import { runMigrations } from '../../../src/core/database/run-migrations';
import { ensureSchema } from '../../../src/core/database/schema-at-start';
import { withWaitingProbes } from '../../../src/http/waiting-probes';
import { loadConfig } from '../../../src/core/config/load-config';
import { findFreePort } from '../../harness/child-process';
import { createEmptyTestDatabase, createTestDatabase, type TestDatabase } from '../../harness/database';

interface Line {
  readonly event: string;
}

describe('MIGRATE_ON_START=false', () => {
  let database: TestDatabase;
  let lines: string[];
  let firstLine: Promise<void>;
  let logger: { warn(line: Line): void; info(line: Line): void };

  beforeEach(() => {
    lines = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    firstLine = promise;
    const note = ({ event }: Line): void => {
      lines.push(event);
      resolve();
    };
    logger = { warn: note, info: note };
  });
  afterEach(() => database.drop());

  const start = (stopSignal: Promise<unknown>): Promise<boolean> =>
    ensureSchema({ databaseUrl: database.url, migrate: false, logger: logger as never, stopSignal });

  it('writes nothing, logs pending migrations once, and continues when another process has migrated', async () => {
    database = await createEmptyTestDatabase();
    const started = start(new Promise(() => undefined));
    await firstLine;
    expect(await countTables(database.url)).toBe(0);
    await runMigrations(database.url);
    await expect(started).resolves.toBe(true);
    expect(lines).toEqual(['migrations_pending', 'migrations_applied']);
  });

  it('stops on a signal while it waits', async () => {
    database = await createEmptyTestDatabase();
    const signal = Promise.withResolvers<string>();
    const started = start(signal.promise);
    await firstLine;
    signal.resolve('SIGTERM');
    await expect(started).resolves.toBe(false);
    expect(await countTables(database.url)).toBe(0);
  });

  it('answers on the management port meanwhile: live, but not ready and not serving', async () => {
    database = await createEmptyTestDatabase();
    const port = await findFreePort();
    const { http, management } = loadConfig({ MANAGEMENT_PORT: String(port), HOST: '127.0.0.1' });
    const started = withWaitingProbes({ http, management }, () => start(new Promise(() => undefined)));
    await firstLine;
    const probe = async (path: string): Promise<unknown> => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return [response.status, await response.json()];
    };
    expect(await probe('/live')).toEqual([200, { status: 'live' }]);
    const reason = 'waiting for migrations';
    expect(await probe('/ready')).toEqual([503, { status: 'not_ready', reason }]);
    expect(await probe('/serving')).toEqual([503, { status: 'not_serving', reason }]);
    await runMigrations(database.url);
    await expect(started).resolves.toBe(true);
    // The port is free for the process that starts now.
    await expect(probe('/live')).rejects.toThrow();
  });

  it('continues immediately, without a log line, when no migration is pending', async () => {
    database = await createTestDatabase();
    await expect(start(new Promise(() => undefined))).resolves.toBe(true);
    expect(lines).toEqual([]);
  });
});

async function countTables(url: string): Promise<number> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`);
  await client.end();
  return rows.length;
}
