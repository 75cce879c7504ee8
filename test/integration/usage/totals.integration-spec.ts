import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { ReceiptRetention } from '../../../src/billing/usage/receipt-retention';
import { STEP_BOUNDS_MS } from '../../../src/billing/usage/latency';
import { UsageTotalsRepository } from '../../../src/billing/usage/usage-totals.repository';
import { DayPartitions } from '../../../src/core/partitions/day-partitions';
import { systemClock } from '../../../src/core/time/clock';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import {
  type Account,
  createAccount,
  createKey,
  type MoneyEngine,
  releaseCommand,
  requireSoundBooks,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
  exampleRecord,
} from '../billing/money-engine';
import { createUsageSweeps } from './create-usage-sweeps';
import { findUsageDrift } from './usage-drift';
import { insertReceipts } from './receipts';

const MODELS = ['mock/chat-1', 'mock/chat-2', 'mock/embed-1'];

describe('the totals of usage', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let pool: Pool;
  let engine: MoneyEngine;

  beforeEach(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 3);
    pool = createTestPool(database.url, 2);
    engine = startMoneyEngine(database.url);
    await engine.lease.start();
  });

  afterEach(async () => {
    await engine.close();
    await pool.end();
    await dataSource.destroy();
    await database.drop();
  });

  it('match the receipts at any time, during concurrent and killed folding', async () => {
    const accounts = await Promise.all([1, 2].map(() => createAccount(pool)));
    const { organizationId } = await createAccount(pool);
    const end = new AbortController();
    const traffic = Promise.all([
      ...accounts.map((account) => sendTraffic(account, 150)),
      // Receipts of other hours and minutes, without charges.
      ...[1, 2, 3, 4, 5].map((hours) => insertReceipts(pool, { organizationId, count: 30, hours })),
    ]).finally(() => end.abort());
    const rollers = [startRoller(), startRoller()];
    try {
      while (!end.signal.aborted) {
        expect(await findUsageDrift(pool)).toEqual([]);
        await killFolding();
      }
    } finally {
      await Promise.allSettled([traffic, ...rollers.map((stop) => stop())]);
    }
    await traffic;
    expect(await findUsageDrift(pool)).toEqual([]);

    await createUsageSweeps(dataSource).roll();
    expect(await numberOf('SELECT count(*) FROM usage_delta')).toBe(0);
    expect(await findUsageDrift(pool)).toEqual([]);
    const paid = `SELECT sum(charged_micro) FROM usage_by_key WHERE span = 'day' AND organization_id <> $1`;
    expect(await numberOf(paid, [organizationId])).toBe(
      await numberOf(`SELECT sum(amount_micro) FROM ledger_entry WHERE kind = 'charge'`),
    );
    await requireSoundBooks(engine);
  });

  it('are folded without reading empty pages left by a burst', async () => {
    const { organizationId } = await createAccount(pool);
    const sweeps = createUsageSweeps(dataSource);
    await insertReceipts(pool, { organizationId, count: 20_000, hours: 24, keys: 500, models: 20 });
    await sweeps.roll();
    await pool.query('VACUUM (INDEX_CLEANUP ON) usage_delta');
    const pages = await numberOf(`SELECT pg_relation_size('usage_delta') / current_setting('block_size')::integer`);
    const blocksOfRoll = async (): Promise<number> => {
      await insertReceipts(pool, { organizationId, count: 1, hours: 1 });
      const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Record<string, number> }[] }>(
        'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT usage_roll(5000)',
      );
      const plan = rows[0]?.['QUERY PLAN'][0]?.Plan ?? {};
      return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
    };
    const client = await pool.connect();
    // The first call of a connection also reads the system catalogue.
    await blocksOfRoll();
    const blocks = await blocksOfRoll();
    client.release();
    expect(blocks).toBeGreaterThan(0);
    expect(blocks).toBeLessThan(pages / 2);
    expect(await numberOf('SELECT count(*) FROM usage_delta')).toBe(0);
  });

  it('count a request once even if its end is repeated', async () => {
    const account = await createAccount(pool);
    const hold = reserveCommand(account, 1_000n);
    await engine.reservations.reserve(hold);
    for (let repeated = 0; repeated < 3; repeated++) await engine.reservations.finish(settleCommand(hold, 400n, {}));
    expect(await numberOf('SELECT sum(requests) FROM usage_delta')).toBe(1);
    expect(await findUsageDrift(pool)).toEqual([]);
  });

  it('stay unchanged, like the ledger, when retention deletes receipts', async () => {
    const account = await createAccount(pool);
    await sendTraffic(account, 20);
    await insertReceipts(pool, { organizationId: account.organizationId, count: 1_200, hours: 24 * 500 });
    const before = await numberOf('SELECT count(*) FROM usage_record');
    const processes = [1, 2].map(() => createUsageSweeps(dataSource, { USAGE_RETENTION_DAYS: '100' }));
    await Promise.all(processes.map((sweeps) => sweeps.prune()));

    const kept = await numberOf('SELECT count(*) FROM usage_record');
    expect(kept).toBeLessThan(before);
    expect(await numberOf(`SELECT count(*) FROM usage_record WHERE created_at < now() - interval '100 days'`)).toBe(0);
    expect(kept).toBeGreaterThan(200);
    expect(await numberOf('SELECT sum(requests) FROM usage_delta')).toBe(before);
    await requireSoundBooks(engine);
  });

  it('block neither inserts of receipts nor retention nor the folding of other deltas', async () => {
    const account = await createAccount(pool);
    await insertReceipts(pool, { organizationId: account.organizationId, count: 50, hours: 24 * 500 });
    const folding = await pool.connect();
    try {
      await folding.query('BEGIN');
      expect((await folding.query('SELECT usage_roll(1000) AS folded')).rows).toEqual([{ folded: 50 }]);
      await folding.query(`SELECT usage_prune(now() - interval '1 day', 10)`);
      const other = await createAccount(pool);
      await sendTraffic(other, 5);
      const deltas = await numberOf('SELECT count(*) FROM usage_delta WHERE organization_id = $1', [
        other.organizationId,
      ]);
      expect(deltas).toBeGreaterThan(0);
      expect(await new UsageTotalsRepository(dataSource, dataSource).roll(1_000)).toBe(deltas);
      const yesterday = new Date(Date.now() - 86_400_000);
      expect(
        await new ReceiptRetention(dataSource, new DayPartitions(dataSource), systemClock).prune(yesterday, 1_000),
      ).toBeGreaterThan(0);
    } finally {
      await folding.query('ROLLBACK');
      folding.release();
    }
  });

  it('count latencies in the same steps as the readers of the totals', async () => {
    const bounds = await pool.query<{ ms: number; step: string }>(
      `SELECT ms, usage_latency_step(ms) AS step FROM unnest($1::integer[]) WITH ORDINALITY AS duration (ms, n) ORDER BY n`,
      [STEP_BOUNDS_MS.flatMap((bound) => [bound - 1, bound])],
    );
    const expected = STEP_BOUNDS_MS.flatMap((bound, index) => [
      { ms: bound - 1, step: String(index) },
      { ms: bound, step: String(index + 1) },
    ]);
    expect(bounds.rows).toEqual(expected);
  });

  it('are complete except for the latencies of requests from before these were counted', async () => {
    const account = await createAccount(pool);
    await sendTraffic(account, 20);
    await createUsageSweeps(dataSource).roll();
    await pool.query('UPDATE usage_by_model SET latency = NULL');
    expect(await engine.ledger.verify()).not.toEqual([]);
    await pool.query(`INSERT INTO receipt_history (kept_since, latency_since) VALUES ('-infinity', clock_timestamp())`);
    expect(await engine.ledger.verify()).toEqual([]);
  });

  it('never deadlock when several processes fold deltas of the same totals', async () => {
    const { organizationId } = await createAccount(pool);
    await insertReceipts(pool, { organizationId, count: 4_000, hours: 12, keys: 40, models: 10 });
    const workers = createTestPool(database.url, 4);
    const foldAll = async (): Promise<number> => {
      let total = 0;
      for (;;) {
        const { rows } = await workers.query<{ folded: number }>('SELECT usage_roll(300) AS folded');
        const folded = rows[0]?.folded ?? 0;
        if (folded === 0) return total;
        total += folded;
      }
    };
    const deltas = await numberOf('SELECT count(*) FROM usage_delta');
    const folded = await Promise.all([1, 2, 3, 4].map(() => foldAll()));
    await workers.end();
    expect(folded.reduce((sum, count) => sum + count, 0)).toBe(deltas);
    expect(await findUsageDrift(pool)).toEqual([]);
  });

  it('refuse a receipt that they would not count, so that its writer repeats the call', async () => {
    const { organizationId } = await createAccount(pool);
    await insertReceipts(pool, { organizationId, count: 1, hours: 1 });
    const uncounted = `INSERT INTO usage_record SELECT * FROM usage_record`;
    await expect(pool.query(uncounted)).rejects.toMatchObject({ code: '40001' });
  });

  async function sendTraffic(account: Account, requests: number): Promise<void> {
    const keys = [account.keyId, await createKey(pool, account.organizationId)];
    for (let sent = 0; sent < requests; sent += 10) {
      await Promise.all(Array.from({ length: 10 }, (_, index) => sendOne(account, keys, sent + index)));
    }
  }

  async function sendOne(account: Account, keys: readonly string[], index: number): Promise<void> {
    const hold = reserveCommand({ ...account, keyId: keys[index % 2] as string }, 1_000n);
    await engine.reservations.reserve(hold);
    const failed = index % 5 === 4;
    const record = {
      model: MODELS[index % 3] as string,
      operation: index % 3 === 2 ? 'createEmbedding' : 'createChatCompletion',
      ...(failed && {
        status: index % 2 === 0 ? 503 : 499,
        errorCode: index % 2 === 0 ? 'provider_unavailable' : null,
      }),
      usage: { ...NO_USAGE, inputText: index, inputAudio: 2, outputText: 3 * index },
    };
    const { reservationId, keyId, organizationId } = hold;
    await engine.reservations.finish(
      failed
        ? { ...releaseCommand(hold), record: { ...exampleRecord(reservationId, { keyId, organizationId }), ...record } }
        : settleCommand(hold, BigInt(1 + (index % 900)), record),
    );
  }

  /** Folds in small steps like another process, and restarts when it is killed. */
  function startRoller(): () => Promise<void> {
    const end = new AbortController();
    const client = createTestPool(database.url, 1);
    const work = (async () => {
      while (!end.signal.aborted) await client.query(`/* folding */ SELECT usage_roll(7)`).catch(() => undefined);
      await client.end();
    })();
    return () => {
      end.abort();
      return work;
    };
  }

  async function killFolding(): Promise<void> {
    await pool.query(`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND query LIKE '/* folding */%'`);
  }

  async function numberOf(sql: string, parameters: unknown[] = []): Promise<number> {
    const { rows } = await pool.query<Record<string, string>>(sql, parameters);
    return Number(Object.values(rows[0] ?? {})[0]);
  }
});
