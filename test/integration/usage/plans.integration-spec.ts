import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { systemClock } from '../../../src/core/time/clock';
import { RequestLogRepository } from '../../../src/billing/usage/request-log.repository';
import { RequestLogService } from '../../../src/billing/usage/request-log.service';
import type { RequestFilter } from '../../../src/billing/usage/usage.types';
import { GROUPINGS, PLATFORM_GROUPINGS, UsageSeriesService } from '../../../src/billing/usage/usage-series.service';
import { UsageTotalsRepository } from '../../../src/billing/usage/usage-totals.repository';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import { allowedMs, FULL, report } from '../../faults/figures';
import { createAccount } from '../billing/money-engine';
import { createUsageSweeps } from './create-usage-sweeps';
import { insertReceipts, keyIdOf } from './receipts';

const RECEIPTS = FULL ? 1_000_000 : 100_000;
/** The longest month; a series may have 750 hours. */
const HOURS = 24 * 31;
const LIMIT = 50;
const RUNS = FULL ? 20 : 2;
const BIG_TABLES = ['usage_record', 'usage_by_model', 'usage_by_key'];

/** A plan node of `EXPLAIN (ANALYZE, FORMAT JSON)`. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The access of a statement to a big table. */
interface Access {
  readonly table: string;
  readonly how: string;
  readonly rows: number;
}

const FILTERS: readonly (readonly [string, RequestFilter])[] = [
  ['everything', {}],
  ['one key of 500', { keyId: keyIdOf(7) }],
  ['one model of 20', { model: 'vendor/model-3' }],
  ['errors', { status: 'error' }],
  ['one code', { errorCode: 'provider_unavailable' }],
  ['errors of one key', { keyId: keyIdOf(7), status: 'error' }],
  ['one model for one key', { keyId: keyIdOf(7), model: 'vendor/model-3' }],
  ['an unused model', { model: 'vendor/none' }],
  ['an unused modality', { modality: 'video' }],
  ['one operation', { operation: 'createChatCompletion' }],
  ['successful requests', { status: 'success' }],
  ['the most frequent modality', { modality: 'text' }],
];

/** Only the rows reveal the matches. */
const ROW_FILTERS: readonly (readonly [string, RequestFilter])[] = [
  ['one cost of 700', { minCostMicro: 799n }],
  ['one cost of 700 for one model', { minCostMicro: 799n, model: 'vendor/model-3' }],
  ['one cost of 700 in part of the time', { minCostMicro: 799n, from: new Date(systemClock.now() - 200 * 3_600_000) }],
  ['slow errors', { minTotalMs: 901, status: 'error' }],
  ['an unused provider', { provider: 'none' }],
];
/** Requests that a page may read: the limit in `request-log.service.ts`, and the rest of a minute. */
const MOST_READ = 51_000;

const month = () => ({ from: new Date(systemClock.now() - HOURS * 3_600_000) });

describe('the log of an organization with many requests', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let pool: Pool;
  let organizationId: string;
  let log: RequestLogService;
  let series: UsageSeriesService;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 2);
    pool = createTestPool(database.url, 1);
    ({ organizationId } = await createAccount(pool));
    const other = await createAccount(pool);
    // Until noon at least: a partition with the few receipts of a young day would be read without its index.
    const time = { hours: HOURS, endsInHours: Math.max(0, 12 - new Date(systemClock.now()).getUTCHours()) };
    await insertReceipts(pool, { organizationId, count: RECEIPTS, ...time, keys: 500, models: 20 });
    await insertReceipts(pool, { organizationId: other.organizationId, count: RECEIPTS / 10, ...time, keys: 50 });
    const totals = new UsageTotalsRepository(dataSource, dataSource);
    await createUsageSweeps(dataSource).roll();
    await pool.query(`VACUUM (ANALYZE) ${['usage_delta', ...BIG_TABLES].join(', ')}`);
    log = new RequestLogService(new RequestLogRepository(dataSource, dataSource), totals);
    series = new UsageSeriesService(totals, systemClock);
  }, 300_000);

  afterAll(async () => {
    await pool.end();
    await dataSource.destroy();
    await database.drop();
  });

  it.each(FILTERS)('reads few rows to list %s, on the first and later pages', async (_name, filter) => {
    const accesses = await accessesOf(async () => {
      const first = await log.list(organizationId, filter, null, LIMIT);
      if (first.nextCursor !== null) await log.list(organizationId, filter, first.nextCursor, LIMIT);
    });
    expect(accesses.map(({ how }) => how)).not.toContain('Seq Scan');
    const receipts = accesses.filter(({ table }) => table === 'usage_record');
    expect(receipts.filter(({ how }) => !how.endsWith('_organization_id_created_at_idx'))).toEqual([]);
    // Two pages of a filter that matches one in 500 are some 100 minutes with two or three requests each.
    expect(sumOf(receipts)).toBeLessThan(RECEIPTS / 20);
    // A page of frequent requests ends after a few hours, and rare ones are found through an index: an hour of this
    // month has 20 totals by model, and all hours together have 15,000.
    expect(sumOf(accesses) - sumOf(receipts)).toBeLessThan(FULL ? 20_000 : 4_000);
  });

  it.each(PLATFORM_GROUPINGS)('reads a day of the whole platform by %s through an index', async (groupBy) => {
    const from = new Date(systemClock.now() - 24 * 3_600_000);
    const accesses = await accessesOf(() => series.platformSeries({ from, interval: 'hour', groupBy }));
    expect(accesses.map(({ how }) => how)).toContain('usage_by_model_time_index');
    expect(accesses.map(({ how }) => how)).not.toContain('Seq Scan');
    // At most 25 hours of 20 models and 2 outcomes, read once to find the most expensive and once to sum.
    expect(sumOf(accesses)).toBeLessThan(RECEIPTS / 20);
  });

  it.each(GROUPINGS)('reads no receipt for a series by %s', async (groupBy) => {
    const accesses = await accessesOf(async () => {
      await series.series(organizationId, { ...month(), interval: 'hour', groupBy });
      await series.series(organizationId, { ...month(), interval: 'day', groupBy });
    });
    expect(accesses.map(({ table }) => table)).not.toContain('usage_record');
    // An hour has far more keys than models: with few requests it has as many totals by key as requests.
    // There are 20 models, so that no sum of remaining models is read.
    expect(sumOf(accesses)).toBeLessThan({ key: 3 * RECEIPTS, model: RECEIPTS / 4 }[groupBy as string] ?? RECEIPTS / 2);
  });

  it('lists every matching request once and in order', async () => {
    // Neither end is on a minute boundary.
    const part = { from: new Date(systemClock.now() - 50_000_123), to: new Date(systemClock.now() - 20_000_321) };
    const filters = FILTERS.slice(1, 7).map(([, filter]) => filter);
    for (const filter of [...filters, ...filters.map((each) => ({ ...each, ...part }))]) {
      const found: string[] = [];
      for await (const page of log.pages(organizationId, filter, 999)) found.push(...page.map(({ id }) => id));
      expect(found).toEqual(await idsOf(filter));
    }
  });

  it.each(ROW_FILTERS)(
    'reads a limited number of rows per page to find %s, and finds all of them',
    async (_name, filter) => {
      const found: string[] = [];
      let pages = 0;
      const readPage = async (after: string | null): Promise<string | null> => {
        let next: string | null = null;
        const accesses = await accessesOf(async () => {
          const page = await log.list(organizationId, filter, after, LIMIT);
          found.push(...page.requests.map(({ id }) => id));
          next = page.nextCursor;
        });
        expect(accesses.map(({ how }) => how)).not.toContain('Seq Scan');
        expect(sumOf(accesses.filter(({ table }) => table === 'usage_record'))).toBeLessThan(MOST_READ);
        pages++;
        return next;
      };
      for (let cursor = await readPage(null); cursor !== null;) cursor = await readPage(cursor);
      expect(found).toEqual(await idsOf(filter));
      // Only full pages and pages that read much have a cursor.
      expect(pages).toBeLessThan(found.length / LIMIT + RECEIPTS / 40_000 + 2);
      const exported: string[] = [];
      for await (const page of log.pages(organizationId, filter, 999)) exported.push(...page.map(({ id }) => id));
      expect(exported).toEqual(found);
    },
    120_000,
  );

  it('has a p95 below 200 ms and no statement of 500 ms', async () => {
    const calls: (readonly [string, () => Promise<unknown>])[] = [
      ...FILTERS.map(([name, filter]) => [name, () => log.list(organizationId, filter, null, LIMIT)] as const),
      ...GROUPINGS.map(
        (groupBy) =>
          [
            `by ${groupBy}, hours`,
            () => series.series(organizationId, { ...month(), interval: 'hour', groupBy }),
          ] as const,
      ),
      ...GROUPINGS.map(
        (groupBy) =>
          [
            `by ${groupBy}, days`,
            () => series.series(organizationId, { ...month(), interval: 'day', groupBy }),
          ] as const,
      ),
    ];
    const slow: string[] = [];
    for (const [name, call] of calls) {
      const took: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        const startedAtMs = systemClock.monotonic();
        await call();
        took.push(systemClock.monotonic() - startedAtMs);
      }
      took.sort((left, right) => left - right);
      const [p50 = 0, p95 = 0, most = 0] = [0.5, 0.95, 1].map((part) => took[Math.ceil(part * RUNS) - 1]);
      report(name, { p50: Math.round(p50), p95: Math.round(p95), most: Math.round(most) });
      if (p95 > allowedMs(200) || most > allowedMs(500)) slow.push(name);
    }
    expect(slow).toEqual([]);
  }, 300_000);

  /** The accesses of the statements of `work` to the big tables. */
  async function accessesOf(work: () => Promise<unknown>): Promise<Access[]> {
    const statements: [string, unknown[]][] = [];
    const spy = jest.spyOn(dataSource, 'query').mockImplementation(function (this: DataSource, ...call) {
      statements.push([call[0], call[1] as unknown[]]);
      return DataSource.prototype.query.apply(this, call);
    });
    await work();
    spy.mockRestore();
    const accesses: Access[] = [];
    for (const [text, parameters] of statements) {
      const [row] = await dataSource.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }[]>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        parameters,
      );
      collect(row?.['QUERY PLAN'][0]?.Plan, accesses);
    }
    return accesses;
  }

  async function idsOf({ keyId, model, status, errorCode, from, to, ...ofRow }: RequestFilter): Promise<string[]> {
    const { provider, minCostMicro, minTotalMs } = ofRow;
    const { rows } = await pool.query<{ id: string }>(
      `SELECT id FROM usage_record
        WHERE organization_id = $1 AND ($2::uuid IS NULL OR key_id = $2) AND ($3::text IS NULL OR model = $3)
          AND ($4::text IS NULL OR (status >= 400) = ($4 = 'error')) AND ($5::text IS NULL OR error_code = $5)
          AND ($6::timestamptz IS NULL OR created_at >= $6) AND ($7::timestamptz IS NULL OR created_at < $7)
          AND ($8::text IS NULL OR provider = $8) AND charged_micro >= COALESCE($9, 0)
          AND total_ms >= COALESCE($10, 0)
        ORDER BY created_at DESC, id DESC`,
      [organizationId, keyId, model, status, errorCode, from, to, provider, minCostMicro?.toString(), minTotalMs],
    );
    return rows.map(({ id }) => id);
  }
});

function collect(node: PlanNode | undefined, accesses: Access[]): void {
  if (node === undefined) return;
  const table = tableOf(node['Relation Name'] ?? node['Index Name']);
  if (table !== undefined && node['Node Type'] !== 'Bitmap Heap Scan') {
    const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
    // An empty table, such as the partition of tomorrow, is read without its index.
    if (rows > 0 || node['Index Name'] !== undefined)
      accesses.push({ table, how: node['Index Name'] ?? 'Seq Scan', rows });
  }
  for (const child of node.Plans ?? []) collect(child, accesses);
}

/**
 * A bitmap node shows only its index; the scan above it shows the rows. Partitions and indexes begin with their table.
 */
function tableOf(relation: string | undefined): string | undefined {
  return BIG_TABLES.find((table) => relation?.startsWith(table));
}

function sumOf(accesses: readonly Access[]): number {
  return accesses.reduce((sum, { rows }) => sum + rows, 0);
}
