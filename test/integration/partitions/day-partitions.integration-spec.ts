import { Logger } from '@nestjs/common';
import type { Pool, PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { DayPartitions } from '../../../src/core/partitions/day-partitions';
import { DAYS_AHEAD, PartitionSweeps } from '../../../src/core/partitions/partition-sweeps';
import { allowedMs, until } from '../../faults/figures';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';

const DAY_MS = 86_400_000;
/** The UTC day so many days after today. */
const dayIn = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
const nameOf = (table: string, day: string): string => `${table}_${day.replaceAll('-', '')}`;

describe('tables partitioned by the day of an id', () => {
  let database: TestDatabase;
  let pool: Pool;
  let dataSource: DataSource;
  let partitions: DayPartitions;
  const metrics = new Metrics();
  const created: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createTestPool(database.url, 8);
    dataSource = await openDataSource(database.url, 4);
    partitions = new DayPartitions(dataSource);
  });

  afterAll(async () => {
    await pool.end();
    await dataSource.destroy();
    await database.drop();
  });

  afterEach(async () => {
    for (const table of created.splice(0)) await pool.query(`DROP TABLE ${table}`);
  });

  /** A table, until the test ends, whose last partition begins so many days after today. */
  async function createTable(table: string, lastIn: number): Promise<void> {
    created.push(table);
    await pool.query(`CREATE TABLE ${table} (owner_id uuid, id uuid, note text DEFAULT '', PRIMARY KEY (owner_id, id))
                        PARTITION BY RANGE (id)`);
    await pool.query(`CREATE INDEX ON ${table} (owner_id, note)`);
    const bound = (await pool.query<{ id: string }>('SELECT first_id_of($1) AS id', [dayIn(lastIn)])).rows[0]?.id;
    await pool.query(`CREATE TABLE ${table}_past PARTITION OF ${table} FOR VALUES FROM (MINVALUE) TO ('${bound}')`);
    await pool.query(`CREATE TABLE ${nameOf(table, dayIn(lastIn))} PARTITION OF ${table}
                        FOR VALUES FROM ('${bound}') TO (MAXVALUE)`);
  }

  /** Returns the partition that took the row. */
  async function insert(table: string, day: string, client: Pool | PoolClient = pool): Promise<string> {
    const { rows } = await client.query<{ partition: string }>(
      `INSERT INTO ${table} (owner_id, id)
         SELECT gen_random_uuid(), overlay(gen_random_uuid()::text PLACING left(first_id_of($1)::text, 13) FROM 1)::uuid
       RETURNING tableoid::regclass::text AS partition`,
      [day],
    );
    return String(rows[0]?.partition);
  }

  /** Inserts rows of today until `work` ends; resolves with the duration of the slowest insertion. */
  async function insertDuring(table: string, work: () => Promise<unknown>): Promise<number> {
    const ended = new AbortController();
    const writing = (async () => {
      let slowestMs = 0;
      do {
        const startedAtMs = performance.now();
        await insert(table, dayIn(0));
        slowestMs = Math.max(slowestMs, performance.now() - startedAtMs);
      } while (!ended.signal.aborted);
      return slowestMs;
    })();
    await work().finally(() => ended.abort());
    return writing;
  }

  async function inTransaction(work: (client: PoolClient) => Promise<void>): Promise<void> {
    const client = await pool.connect();
    await client.query('BEGIN');
    try {
      await work(client);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  }

  it('have a partition for each of the coming days, and a last one for all later rows', async () => {
    await createTable('ahead', 1);
    expect(await partitions.tables()).toContain('ahead');
    expect(await partitions.extend('ahead', 3)).toEqual({ addedCount: 2, ranOut: false });
    expect(await partitions.list('ahead')).toEqual([
      { name: 'ahead_past', firstDay: null, endDay: dayIn(1), state: 'attached' },
      { name: nameOf('ahead', dayIn(1)), firstDay: dayIn(1), endDay: dayIn(2), state: 'attached' },
      { name: nameOf('ahead', dayIn(2)), firstDay: dayIn(2), endDay: dayIn(3), state: 'attached' },
      { name: nameOf('ahead', dayIn(3)), firstDay: dayIn(3), endDay: null, state: 'attached' },
    ]);
    expect(await insert('ahead', '1999-12-31')).toBe('ahead_past');
    expect(await insert('ahead', dayIn(2))).toBe(nameOf('ahead', dayIn(2)));
    expect(await insert('ahead', '2199-01-01')).toBe(nameOf('ahead', dayIn(3)));
    expect(await partitions.extend('ahead', 3)).toEqual({ addedCount: 0, ranOut: false });
    const { rows } = await pool.query('SELECT indexdef FROM pg_indexes WHERE tablename = $1', [
      nameOf('ahead', dayIn(3)),
    ]);
    expect(rows).toHaveLength(2);
  });

  it('are extended by several processes at once while rows are written', async () => {
    await createTable('shared', 1);
    await insertDuring('shared', async () => {
      const sweeps = Array.from({ length: 4 }, () => new PartitionSweeps(partitions, metrics));
      await until('all partitions', 60_000, async () => {
        await Promise.all(sweeps.map((each) => each.extendScheduled()));
        return (await partitions.list('shared')).length === DAYS_AHEAD + 1;
      });
    });
    const days = (await partitions.list('shared')).map(({ firstDay, endDay }) => [firstDay, endDay]);
    expect(days).toEqual([
      [null, dayIn(1)],
      ...Array.from({ length: DAYS_AHEAD - 1 }, (_, day) => [dayIn(day + 1), dayIn(day + 2)]),
      [dayIn(DAYS_AHEAD), null],
    ]);
  });

  it('are not extended while a transaction uses the table, and writers wait 50 ms at most', async () => {
    await createTable('busy', 1);
    await inTransaction(async (client) => {
      await client.query('SELECT FROM busy');
      const slowestMs = await insertDuring('busy', () =>
        expect(partitions.extend('busy', 3)).rejects.toMatchObject({ code: '55P03' }),
      );
      expect(slowestMs).toBeLessThan(allowedMs(150));
    });
    expect(await partitions.list('busy')).toHaveLength(2);
    expect(await partitions.extend('busy', 3)).toMatchObject({ addedCount: 2 });
  });

  it('keep the rows that were written before a partition was added, and report it', async () => {
    await createTable('late', -3);
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    expect(await insert('late', dayIn(0))).toBe(nameOf('late', dayIn(-3)));
    await insertDuring('late', () => new PartitionSweeps(partitions, metrics).extendScheduled());
    expect(error.mock.calls).toEqual([[expect.objectContaining({ event: 'partitions_ran_out', table: 'late' })]]);
    error.mockRestore();
    const [, late, next] = await partitions.list('late');
    expect(late).toMatchObject({ firstDay: dayIn(-3), endDay: dayIn(2) });
    expect(next).toMatchObject({ firstDay: dayIn(2), endDay: dayIn(3) });
    expect(await insert('late', dayIn(0))).toBe(late?.name);
    expect(await insert('late', dayIn(2))).toBe(next?.name);
    expect(await partitions.extend('late', DAYS_AHEAD)).toEqual({ addedCount: 0, ranOut: false });
  });

  it('are extended although a row arrives in the last partition just after it was found empty', async () => {
    await createTable('table_late', -10);
    const query = dataSource.query.bind(dataSource);
    const spy = jest.spyOn(dataSource, 'query').mockImplementation(async (text, ...values) => {
      const found = await query(text, ...values);
      if (!text.startsWith('SELECT EXISTS')) return found;
      spy.mockRestore();
      await insert('table_late', dayIn(0));
      return found;
    });
    expect(await partitions.extend('table_late', DAYS_AHEAD)).toMatchObject({ ranOut: true });
    expect(await insert('table_late', dayIn(DAYS_AHEAD))).toBe(nameOf('table_late', dayIn(DAYS_AHEAD)));
  });

  it('lose a partition while others are read and written, also when the removal was interrupted', async () => {
    await createTable('old', 0);
    await partitions.extend('old', 3);
    const [past, today] = await partitions.list('old');
    if (past === undefined || today === undefined) throw new Error('no partitions');
    await insert('old', dayIn(-1));

    await inTransaction(async (client) => {
      await client.query('SELECT FROM old');
      const removing = partitions.remove('old', past).catch((failure: unknown) => failure);
      const waiting = `FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE old DETACH%' AND wait_event_type = 'Lock'
                          AND datname = current_database()`;
      await until('the removal that waits', 60_000, async () => {
        return (await pool.query(`SELECT ${waiting}`)).rowCount === 1;
      });
      // The removal waits for the reader only, and blocks no other session.
      expect(await insert('old', dayIn(0))).toBe(today.name);
      expect((await pool.query('SELECT FROM old')).rowCount).toBe(1);
      await pool.query(`SELECT pg_cancel_backend(pid) ${waiting}`);
      expect(await removing).toMatchObject({ code: '57014' });
    });

    const [interrupted] = await partitions.list('old');
    expect(interrupted).toMatchObject({ name: 'old_past', state: 'detaching' });
    if (interrupted !== undefined) await partitions.remove('old', interrupted);
    expect((await partitions.list('old')).map(({ name }) => name)).not.toContain('old_past');
    expect((await pool.query(`SELECT to_regclass('old_past') AS gone`)).rows).toEqual([{ gone: null }]);
  });

  it('are reported by the first day that the table with the fewest partitions has not yet', async () => {
    const untilSeconds = async (): Promise<number | undefined> => {
      await new PartitionSweeps(partitions, metrics).extendScheduled();
      const { values } =
        (await metrics.registry.getSingleMetric('gateway_partitions_until_timestamp_seconds')?.get()) ?? {};
      return values?.[0]?.value;
    };
    expect(await untilSeconds()).toBe(Date.parse(dayIn(DAYS_AHEAD)) / 1_000);
    await createTable('in_use', 2);
    await inTransaction(async (client) => {
      await client.query('SELECT FROM in_use');
      expect(await untilSeconds()).toBe(Date.parse(dayIn(2)) / 1_000);
    });
    expect(await untilSeconds()).toBe(Date.parse(dayIn(DAYS_AHEAD)) / 1_000);
  });

  it('are extended although another table has a row of a later year in its last partition', async () => {
    await createTable('astray', 1);
    await createTable('behind_it', 1);
    await insert('astray', '2199-01-01');
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await new PartitionSweeps(partitions, metrics).extendScheduled();
    expect(warn.mock.calls).toEqual([
      [expect.objectContaining({ event: 'partitions_extend_failed', message: expect.stringContaining('astray') })],
    ]);
    warn.mockRestore();
    expect(await partitions.list('behind_it')).toHaveLength(DAYS_AHEAD + 1);
    expect(await insert('astray', dayIn(1))).toBe(nameOf('astray', dayIn(1)));
  });

  it('lose a partition once when several processes remove it', async () => {
    await createTable('contested', 0);
    await partitions.extend('contested', 2);
    const [past] = await partitions.list('contested');
    if (past === undefined) throw new Error('no partition');
    const removed = await Promise.all([1, 2, 3, 4].map(() => partitions.remove('contested', past)));
    expect(removed.filter(Boolean)).toHaveLength(1);
    expect((await partitions.list('contested')).map(({ state }) => state)).toEqual([
      'attached',
      'attached',
      'attached',
    ]);
  });

  it('drop a partition that was detached by a process that died then', async () => {
    await createTable('orphan', 0);
    await partitions.extend('orphan', 2);
    await pool.query(`ALTER TABLE orphan DETACH PARTITION ${nameOf('orphan', dayIn(0))}`);
    const detached = (await partitions.list('orphan')).find(({ state }) => state === 'detached');
    expect(detached?.name).toBe(nameOf('orphan', dayIn(0)));
    if (detached !== undefined) await partitions.remove('orphan', detached);
    expect((await partitions.list('orphan')).map(({ state }) => state)).toEqual(['attached', 'attached', 'attached']);
  });
});
