import { Logger } from '@nestjs/common';
import { Client, type Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../../src/core/database/data-source';
import { ReadDatabase } from '../../../src/core/database/read-database';
import { runMigrations } from '../../../src/core/database/run-migrations';
import { until } from '../../faults/figures';
import { PostgresProcess } from '../../faults/postgres-process';
import { endChildren } from '../../harness/child-process';
import { createTestPool } from '../../harness/database';

const WITHIN_MS = 60_000;

describe('reads that may be some seconds old, with DATABASE_READ_URL', () => {
  let primary: PostgresProcess;
  let standby: PostgresProcess;
  let dataSource: DataSource;
  let writer: Pool;
  let reads: ReadDatabase;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    primary = await PostgresProcess.create();
    await runMigrations(primary.url);
    standby = await primary.createStandby();
    dataSource = await createDataSource({ url: primary.url, poolSize: 2 }).initialize();
    writer = createTestPool(primary.url, 1);
    await renewLease('0 seconds');
    reads = new ReadDatabase(dataSource, { url: standby.url, poolSize: 2, isPooled: false }, 20);
    reads.onApplicationBootstrap();
  });

  afterAll(async () => {
    await reads.beforeApplicationShutdown();
    await writer.end();
    await dataSource.destroy();
    await Promise.all([primary.remove(), standby.remove()]);
    await endChildren();
  });

  /** As a gateway does every few seconds, so long ago. */
  async function renewLease(age: string): Promise<void> {
    await writer.query(
      `INSERT INTO gateway_instance (id, heartbeat_at, steady_since) VALUES ('a', clock_timestamp() - $1::interval, now())
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at`,
      [age],
    );
  }

  async function readsFrom(): Promise<string> {
    const [row] = await reads.query<{ is_standby: boolean }[]>('SELECT pg_is_in_recovery() AS is_standby');
    return row?.is_standby === true ? 'replica' : 'primary';
  }

  it('go to the replica, with their parameters', async () => {
    await until('the replica', WITHIN_MS, () => reads.source === 'replica');
    expect(await readsFrom()).toBe('replica');
    expect(await reads.query('SELECT $1::integer + 1 AS sum', [1])).toEqual([{ sum: 2 }]);
  });

  it('go to the primary while the replica is more than 30 s behind', async () => {
    await renewLease('40 seconds');
    await until('the primary', WITHIN_MS, () => reads.source === 'primary');
    expect(await readsFrom()).toBe('primary');
    await renewLease('0 seconds');
    await until('the replica', WITHIN_MS, async () => (await readsFrom()) === 'replica');
  });

  it('go to the primary when the replica breaks, without one that fails, and back when it is there again', async () => {
    const watcher = new Client({ connectionString: standby.url }).on('error', () => undefined);
    await watcher.connect();
    // The statement under way when the replica ends is repeated.
    const underWay = reads.query<{ slept: boolean }[]>(
      'SELECT CASE WHEN pg_is_in_recovery() THEN pg_sleep(60) IS NULL ELSE true END AS slept',
    );
    await until('the statement', WITHIN_MS, async () => {
      const { rowCount } = await watcher.query(
        `SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND wait_event = 'PgSleep'`,
      );
      return rowCount === 1;
    });
    await standby.killEverything();
    expect(await underWay).toEqual([{ slept: true }]);
    expect(await Promise.all(Array.from({ length: 5 }, readsFrom))).toEqual(Array.from({ length: 5 }, () => 'primary'));
    await standby.start();
    await until('the replica', WITHIN_MS, async () => {
      await renewLease('0 seconds');
      return (await readsFrom()) === 'replica';
    });
  });

  it('fail when the statement is wrong, and do not run it on the primary', async () => {
    const onPrimary = jest.spyOn(dataSource, 'query');
    await expect(reads.query('SELECT nothing')).rejects.toThrow('nothing');
    expect(onPrimary).not.toHaveBeenCalled();
    onPrimary.mockRestore();
  });
});
