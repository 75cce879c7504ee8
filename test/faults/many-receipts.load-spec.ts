/** What a million receipts and 100,000 keys cost those who come after them. It compares times, so it runs alone. */
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { RequestLogRepository } from '../../src/billing/usage/request-log.repository';
import { RequestLogService } from '../../src/billing/usage/request-log.service';
import { UsageTotalsRepository } from '../../src/billing/usage/usage-totals.repository';
import { DayPartitions } from '../../src/core/partitions/day-partitions';
import { openDataSource } from '../harness/data-source';
import { createTestDatabase, createTestPool, type TestDatabase } from '../harness/database';
import {
  type Account,
  createAccount,
  type MoneyEngine,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
} from '../integration/billing/money-engine';
import { insertReceipts } from '../integration/usage/receipts';
import { quantile, report } from './figures';

const RECEIPTS = 1_000_000;
const KEYS = 100_000;
const DAYS = 30;
const ROUNDS = 5;
const REQUESTS = 300;
const CALLERS = 10;
const PAGES = 20;
const PAGE_SIZE = 50;
/** ± 10 %. */
const TOLERATED = 1.1;

/** Figures of one round, in milliseconds. */
interface Round {
  readonly admissionP99: number;
  readonly list: number;
  readonly filteredList: number;
}

/** A database with an organization that makes requests now. */
class Books {
  private constructor(
    private readonly database: TestDatabase,
    readonly pool: Pool,
    readonly dataSource: DataSource,
    private readonly engine: MoneyEngine,
    private readonly log: RequestLogService,
    readonly account: Account,
  ) {}

  static async create(): Promise<Books> {
    const database = await createTestDatabase();
    const pool = createTestPool(database.url, 2);
    const dataSource = await openDataSource(database.url, 2);
    const engine = startMoneyEngine(database.url);
    await engine.lease.start();
    const totals = new UsageTotalsRepository(dataSource, dataSource);
    const log = new RequestLogService(new RequestLogRepository(dataSource, dataSource), totals);
    return new Books(database, pool, dataSource, engine, log, await createAccount(pool));
  }

  async measure(): Promise<Round> {
    const admissions: number[] = [];
    const call = async (): Promise<void> => {
      for (let done = 0; done < REQUESTS / CALLERS; done++) {
        const command = reserveCommand(this.account, 100n);
        const startedAtMs = performance.now();
        await this.engine.reservations.reserve(command);
        admissions.push(performance.now() - startedAtMs);
        await this.engine.reservations.finish(settleCommand(command, 70n, {}));
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, call));
    return {
      admissionP99: quantile(admissions, 0.99),
      list: await this.timeList({}),
      filteredList: await this.timeList({ status: 'success' }),
    };
  }

  async drop(): Promise<void> {
    await this.engine.close();
    await this.pool.end();
    await this.dataSource.destroy();
    await this.database.drop();
  }

  /** The median duration of a page. */
  private async timeList(filter: { readonly status?: 'success' }): Promise<number> {
    const durations: number[] = [];
    for (let page = 0; page < PAGES; page++) {
      const startedAtMs = performance.now();
      await this.log.list(this.account.organizationId, filter, null, PAGE_SIZE);
      durations.push(performance.now() - startedAtMs);
    }
    return quantile(durations, 0.5);
  }
}

describe('a database with a million receipts and 100,000 keys', () => {
  let empty: Books;
  let full: Books;

  beforeAll(async () => {
    [empty, full] = [await Books.create(), await Books.create()];
    // The receipts are of the coming days, since earlier ones are in one partition.
    for (const { dataSource } of [empty, full]) await new DayPartitions(dataSource).extend('usage_record', DAYS + 2);
    const { organizationId } = full.account;
    await full.pool.query(
      `INSERT INTO api_key (organization_id, name, digest, prefix, last4)
         SELECT $1, 'one of many', sha256(n::text::bytea), 'sk-llm-test', 'test' FROM generate_series(1, $2::integer) n`,
      [organizationId, KEYS],
    );
    const hours = DAYS * 24;
    await insertReceipts(full.pool, {
      organizationId,
      count: RECEIPTS,
      hours,
      endsInHours: hours,
      keys: KEYS,
      models: 20,
    });
    await full.pool.query('SELECT usage_roll(2000000)');
    for (const { pool } of [empty, full]) await pool.query('VACUUM (ANALYZE)');
  }, 1_800_000);

  afterAll(async () => {
    await empty.drop();
    await full.drop();
  });

  it('admits requests and lists them as fast as an empty one', async () => {
    await empty.measure();
    await full.measure();
    const ratios: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = await empty.measure();
      const after = await full.measure();
      report('empty', before);
      report('full', after);
      ratios.push({
        admissionP99: after.admissionP99 / before.admissionP99,
        list: after.list / before.list,
        filteredList: after.filteredList / before.filteredList,
      });
    }
    const median = (figure: keyof Round): number =>
      quantile(
        ratios.map((ratio) => ratio[figure]),
        0.5,
      );
    const medians = {
      admissionP99: median('admissionP99'),
      list: median('list'),
      filteredList: median('filteredList'),
    };
    report('full against empty', medians);
    expect(Object.values(medians).filter((ratio) => ratio > TOLERATED)).toEqual([]);
  }, 600_000);
});
