import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { type BillingOptions, DEFAULT_BILLING_OPTIONS } from '../../../src/billing/ledger/billing-options';
import { LedgerAuditRepository } from '../../../src/billing/ledger/ledger-audit.repository';
import { LedgerAuditService } from '../../../src/billing/ledger/ledger-audit.service';
import { type Clock, systemClock } from '../../../src/core/time/clock';
import { createMoneyPool } from '../../../src/core/database/money-pool';
import {
  createTestDatabase,
  createTestPool,
  NO_REPLICA,
  PATIENCE_MS,
  patientDatabase,
  type TestDatabase,
} from '../../harness/database';

const BROKEN = `SELECT 'I1 planted'::text AS invariant, 'row'::text AS subject, 5::numeric AS difference_micro`;
const ENDLESS = `${BROKEN} FROM pg_sleep(600)`;

describe('the periodic audit', () => {
  let database: TestDatabase;
  let observer: Pool;
  const pools: Pool[] = [];

  beforeEach(async () => {
    database = await createTestDatabase();
    observer = createTestPool(database.url, 2);
  });
  afterEach(async () => {
    await Promise.all([observer, ...pools.splice(0)].map((pool) => pool.end()));
    await database.drop();
  });

  /** The audit of one process. */
  function startProcess(overrides: Partial<BillingOptions> = {}, clock: Clock = systemClock, reads = NO_REPLICA) {
    const url = patientDatabase(database.url);
    const pool = createMoneyPool({ url, poolSize: 2, connectTimeoutMs: PATIENCE_MS, onPoolError: () => undefined });
    pools.push(pool);
    const options = { ...DEFAULT_BILLING_OPTIONS, auditTimeoutMs: PATIENCE_MS, ...overrides };
    return new LedgerAuditService(new LedgerAuditRepository(pool, reads, clock), clock, options);
  }

  const leaseIs = (owner: string, until: string) =>
    observer.query(`UPDATE task_lease SET owner = $1, until = $2 WHERE name = 'ledger_audit'`, [owner, until]);

  /** Replaces the view that the audit reads. */
  const booksAre = (view: string) => observer.query(`CREATE OR REPLACE VIEW money_violations AS ${view}`);

  async function isAuditing(): Promise<boolean> {
    const { rows } = await observer.query(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
          AND query LIKE '%FROM money_violations%'`,
    );
    return rows.length > 0;
  }

  async function untilAuditing(expected: boolean): Promise<void> {
    while ((await isAuditing()) !== expected) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  /** The errors that are logged while `work` runs. */
  async function errorsDuring(work: () => Promise<unknown>): Promise<{ event?: string }[]> {
    const spy = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    try {
      await work();
      return spy.mock.calls.map(([message]) => message);
    } finally {
      spy.mockRestore();
    }
  }

  it('runs in one process and is visible in all of them', async () => {
    const [one, other] = [startProcess(), startProcess()];
    expect(one.state).toBe('unknown');
    await one.poll();
    expect(one.state).toBe('ok');
    await booksAre(BROKEN);
    await other.poll();
    expect(other.state).toBe('ok');
    const { nextDueAt, lastCompleted } = await other.refresh();
    expect(nextDueAt.getTime() - Number(lastCompleted?.completedAt)).toBeGreaterThanOrEqual(60_000 - 100);
  });

  it('runs in one process at a time', async () => {
    const [one, other] = [startProcess(), startProcess()];
    await booksAre(ENDLESS);
    const polling = one.poll();
    await untilAuditing(true);
    await other.poll();
    expect(other.state).toBe('unknown');
    one.onModuleDestroy();
    await polling;
  });

  it('runs in another process once the lease of a dead one has lapsed', async () => {
    const audit = startProcess();
    await leaseIs('a dead process', 'infinity');
    await audit.poll();
    expect(audit.state).toBe('unknown');
    await leaseIs('a dead process', 'now');
    await audit.poll();
    expect(audit.state).toBe('ok');
  });

  it.each([
    ['completes', BROKEN],
    ['fails', `${BROKEN} WHERE 1 / (random() * 0)::integer = 1`],
  ])('stores nothing when it %s after another process has taken its lease', async (_ending, view) => {
    await booksAre(view);
    const loseLease = async () => {
      await leaseIs('another process', 'infinity');
      return null;
    };
    const audit = startProcess({}, systemClock, { readReplica: loseLease });
    expect(await errorsDuring(() => audit.poll())).toEqual([]);
    expect(await audit.refresh()).toMatchObject({ lastCompleted: null, lastFailure: null });
  });

  it('reports a broken invariant even after a later audit failed', async () => {
    await booksAre(BROKEN);
    const [first, later] = [startProcess(), startProcess({ auditTimeoutMs: 100 })];
    const errors = await errorsDuring(() => first.poll());
    expect(errors).toEqual([
      expect.objectContaining({ event: 'ledger_invariant_broken', invariant: 'I1 planted', subject: 'row' }),
    ]);
    expect(first.state).toBe('failed');
    await booksAre(ENDLESS);
    await observer.query('UPDATE ledger_audit SET next_due_at = clock_timestamp()');
    await errorsDuring(() => later.poll());
    expect(later.state).toBe('failed');
    expect(await later.refresh()).toMatchObject({
      lastCompleted: { violationCount: 1, violations: [{ invariant: 'I1 planted', subject: 'row' }] },
      lastFailure: { failure: expect.stringContaining('0.1 s') },
    });
  });

  it('logs a failed audit, is stale in every process, and delays the next one by its duration', async () => {
    await booksAre(ENDLESS);
    const [one, other] = [startProcess({ auditIntervalMs: 0, auditTimeoutMs: 100 }), startProcess()];
    const errors = await errorsDuring(() => one.poll());
    expect(errors).toEqual([
      expect.objectContaining({
        event: 'ledger_audit_failed',
        failure: expect.any(String),
        duration_ms: expect.any(Number),
        last_completed_at: null,
        age_ms: null,
      }),
    ]);
    await other.poll();
    expect([one.state, other.state]).toEqual(['stale', 'stale']);
    const { nextDueAt, lastFailure } = await one.refresh();
    expect(nextDueAt.getTime() - Number(lastFailure?.failedAt)).toBeGreaterThanOrEqual(19 * 100);
  });

  it('logs an overdue audit once and is stale', async () => {
    let nowMs = 0;
    const audit = startProcess({}, { ...systemClock, monotonic: () => nowMs });
    await leaseIs('another process', 'infinity');
    await observer.query(`UPDATE ledger_audit SET next_due_at = clock_timestamp() - interval '1 hour'`);
    const early = await errorsDuring(() => audit.poll());
    expect([early, audit.state]).toEqual([[], 'unknown']);
    nowMs = 3_600_000;
    const errors = await errorsDuring(async () => {
      await audit.poll();
      await audit.poll();
    });
    expect(errors).toEqual([expect.objectContaining({ event: 'ledger_audit_overdue' })]);
    expect(audit.state).toBe('stale');
  });

  it('is canceled by shutdown, also in the database, and is not recorded as failed', async () => {
    await booksAre(ENDLESS);
    const audit = startProcess();
    const polling = audit.pollScheduled();
    await untilAuditing(true);
    expect(
      await errorsDuring(() => {
        audit.onModuleDestroy();
        return polling;
      }),
    ).toEqual([]);
    await untilAuditing(false);
    expect(await startProcess().refresh()).toMatchObject({ lastCompleted: null, lastFailure: null });
  });
});
