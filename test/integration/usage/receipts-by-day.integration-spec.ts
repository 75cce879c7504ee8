import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { ReceiptRetention } from '../../../src/billing/usage/receipt-retention';
import { RequestLogRepository } from '../../../src/billing/usage/request-log.repository';
import { RequestLogService } from '../../../src/billing/usage/request-log.service';
import { UsageTotalsRepository } from '../../../src/billing/usage/usage-totals.repository';
import { DayPartitions } from '../../../src/core/partitions/day-partitions';
import { systemClock } from '../../../src/core/time/clock';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import { createAccount } from '../billing/money-engine';
import { insertReceipts } from './receipts';

const DAY_MS = 86_400_000;
const DAYS = 30;
const PER_DAY = 24;

describe('receipts, by the day of their request', () => {
  let database: TestDatabase;
  let pool: Pool;
  let dataSource: DataSource;
  let partitions: DayPartitions;
  let retention: ReceiptRetention;
  let log: RequestLogService;
  let organizationId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createTestPool(database.url, 2);
    ({ organizationId } = await createAccount(pool, { balanceMicro: 0n }));
    // Older than the database.
    await insertReceipts(pool, { organizationId, count: PER_DAY, hours: 24, endsInHours: -24 });

    dataSource = await openDataSource(database.url, 2);
    partitions = new DayPartitions(dataSource);
    retention = new ReceiptRetention(dataSource, partitions, systemClock);
    log = new RequestLogService(
      new RequestLogRepository(dataSource, dataSource),
      new UsageTotalsRepository(dataSource, dataSource),
    );
    await partitions.extend('usage_record', DAYS + 2);
    // One an hour, the first one now: the first day has a receipt at any time of the day.
    const hours = DAYS * 24;
    await insertReceipts(pool, { organizationId, count: DAYS * PER_DAY, hours, endsInHours: hours - 1 });
  });

  afterAll(async () => {
    await pool.end();
    await dataSource.destroy();
    await database.drop();
  });

  async function idsOf(where: string, ...values: unknown[]): Promise<string[]> {
    const { rows } = await pool.query<{ id: string }>(
      `SELECT id FROM usage_record WHERE organization_id = $1 AND ${where} ORDER BY created_at DESC, id DESC`,
      [organizationId, ...values],
    );
    return rows.map(({ id }) => id);
  }

  /** The partitions that the statements of `work` read. */
  async function partitionsReadBy(work: () => Promise<unknown>): Promise<string[]> {
    const plans: string[] = [];
    const spy = jest.spyOn(dataSource, 'query').mockImplementation(async function (this: DataSource, text, values) {
      plans.push(
        JSON.stringify(await DataSource.prototype.query.call(this, `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)),
      );
      return DataSource.prototype.query.call(this, text, values);
    });
    await work();
    spy.mockRestore();
    return [...new Set(plans.join('').match(/"Relation Name":"usage_record_\w+"/g))].map((name) => name.slice(-9, -1));
  }

  it('are in the partition of their day, and those from before the database in the first one', async () => {
    const { rows } = await pool.query<{ partition: string; count: number; days: number }>(
      `SELECT tableoid::regclass::text AS partition, count(*)::integer AS count, count(DISTINCT day_of_id(id))::integer AS days
         FROM usage_record GROUP BY 1 ORDER BY 1`,
    );
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe((DAYS + 1) * PER_DAY);
    expect(rows.at(-1)?.partition).toBe('usage_record_past');
    expect(rows.length).toBeGreaterThanOrEqual(DAYS);
    expect(rows.slice(0, -1).filter(({ days }) => days !== 1)).toEqual([]);
  });

  it('are found by their id in one partition, with the deployment that earlier releases stored as text', async () => {
    for (const id of [...(await idsOf('true')).slice(0, 1), ...(await idsOf('true')).slice(-1)]) {
      const read = await partitionsReadBy(async () => {
        expect((await log.receipt(organizationId, id)).request).toMatchObject({ id, deploymentId: 'mock-chat' });
      });
      expect(read).toHaveLength(1);
    }
  });

  it('are listed, newest first, from the partitions of the days that jobs of the page may have begun on', async () => {
    const from = new Date(Date.now() + 20 * DAY_MS);
    const to = new Date(from.getTime() + DAY_MS);
    const read = await partitionsReadBy(async () => {
      const { requests } = await log.list(organizationId, { from, to }, null, 100);
      expect(requests.map(({ id }) => id)).toEqual(await idsOf('created_at >= $2 AND created_at < $3', from, to));
      expect(requests.length).toBeGreaterThanOrEqual(PER_DAY - 1);
    });
    expect(read.length).toBeGreaterThan(1);
    expect(read.length).toBeLessThanOrEqual(8 + 3);
    const first = await partitionsReadBy(() => log.list(organizationId, {}, null, 5));
    expect(first.length).toBeLessThanOrEqual(8 + 3);
  });

  it.each([
    ['all', {}],
    ['those of a model', { model: 'vendor/model-0' }],
    ['failed ones', { status: 'error' as const }],
  ])('are listed completely over all days, page by page: %s', async (_name, filter) => {
    const found: string[] = [];
    for await (const page of log.pages(organizationId, filter, 100)) found.push(...page.map(({ id }) => id));
    expect(found).toEqual(await idsOf('status' in filter ? 'status >= 400' : 'true'));
  });

  it('are removed with their day when all of it is older than the retention, and nothing else changes', async () => {
    const days = await partitions.list('usage_record');
    const [, first, second] = days;
    if (first?.endDay == null || second?.endDay == null) throw new Error('no days');
    const before = new Date(`${first.endDay}T12:00:00Z`);
    // Receipts of these days may still arrive.
    expect(await retention.removeDays(before)).toBe(0);

    const at = new Date(new Date(`${second.endDay}T00:00:00Z`).getTime() + 9 * DAY_MS);
    const later = new ReceiptRetention(dataSource, partitions, { now: () => at.getTime() });
    const receipts = await idsOf('true');
    const oldest = await idsOf('id >= first_id_of($2) AND id < first_id_of($3)', first.firstDay, first.endDay);
    const [late] = oldest;
    // A job of that day has ended just now.
    await pool.query('UPDATE usage_record SET created_at = $1 WHERE id = $2', [before, late]);
    expect(await later.removeDays(before)).toBe(0);
    await pool.query(`UPDATE usage_record SET created_at = $1::timestamptz - interval '1 s' WHERE id = $2`, [
      before,
      late,
    ]);

    expect(await later.removeDays(before)).toBe(1);
    expect((await partitions.list('usage_record')).map(({ name }) => name)).toEqual(
      days.map(({ name }) => name).filter((name) => name !== first.name),
    );
    const removed = new Set(oldest);
    expect(new Set(await idsOf('true'))).toEqual(new Set(receipts.filter((id) => !removed.has(id))));
    const { rows } = await pool.query('SELECT max(kept_since) AS kept_since FROM receipt_history');
    expect(rows).toEqual([{ kept_since: before }]);
    expect(await later.removeDays(before)).toBe(0);
  });
});
