import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import type { ReadDatabase } from '../../../src/core/database/read-database';
import { until } from '../../faults/figures';
import { ReadReplica } from '../../harness/read-replica';

const WITHIN_MS = 60_000;

describe('reads that may be some seconds old, with DATABASE_READ_URL', () => {
  let replica: ReadReplica;
  let reads: ReadDatabase;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    replica = await ReadReplica.start();
    ({ reads } = replica);
  });
  afterAll(() => replica.stop());

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
    await replica.renewLease('40 seconds');
    await until('the primary', WITHIN_MS, () => reads.source === 'primary');
    expect(await readsFrom()).toBe('primary');
    await replica.renewLease('0 seconds');
    await until('the replica', WITHIN_MS, async () => (await readsFrom()) === 'replica');
  });

  it('go to the primary when the replica breaks, without one that fails, and back when it is there again', async () => {
    const watcher = new Client({ connectionString: replica.standby.url }).on('error', () => undefined);
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
    await replica.standby.killEverything();
    expect(await underWay).toEqual([{ slept: true }]);
    expect(await Promise.all(Array.from({ length: 5 }, readsFrom))).toEqual(Array.from({ length: 5 }, () => 'primary'));
    await replica.standby.start();
    await until('the replica', WITHIN_MS, async () => {
      await replica.renewLease('0 seconds');
      return (await readsFrom()) === 'replica';
    });
  });

  it('fail when the statement is wrong, and do not run it on the primary', async () => {
    const onPrimary = jest.spyOn(replica.dataSource, 'query');
    await expect(reads.query('SELECT nothing')).rejects.toThrow('nothing');
    expect(onPrimary).not.toHaveBeenCalled();
    onPrimary.mockRestore();
  });
});
