import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { DEFAULT_BILLING_OPTIONS } from '../../../src/billing/ledger/billing-options';
import { LedgerAuditRepository } from '../../../src/billing/ledger/ledger-audit.repository';
import { LedgerAuditService } from '../../../src/billing/ledger/ledger-audit.service';
import { createDataSource } from '../../../src/core/database/data-source';
import { createMoneyPool } from '../../../src/core/database/money-pool';
import { ReadDatabase } from '../../../src/core/database/read-database';
import { runMigrations } from '../../../src/core/database/run-migrations';
import { systemClock } from '../../../src/core/time/clock';
import { until } from '../../faults/figures';
import { PostgresProcess } from '../../faults/postgres-process';
import { endChildren } from '../../harness/child-process';
import { createTestPool, PATIENCE_MS } from '../../harness/database';

const WITHIN_MS = 60_000;

/** A violation whose subject is the server that reads it. */
const READER = `
  SELECT 'I1 planted'::text AS invariant, CASE WHEN pg_is_in_recovery() THEN 'replica' ELSE 'primary' END AS subject,
         5::numeric AS difference_micro`;
const ENDLESS_ON_REPLICA = `${READER} FROM (SELECT CASE WHEN pg_is_in_recovery() THEN pg_sleep(600) END) pause`;

describe('the periodic audit with DATABASE_READ_URL', () => {
  let primary: PostgresProcess;
  let standby: PostgresProcess;
  let dataSource: DataSource;
  let moneyPool: Pool;
  let observer: Pool;
  let reads: ReadDatabase;
  let audit: LedgerAuditService;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    primary = await PostgresProcess.create();
    await runMigrations(primary.url);
    standby = await primary.createStandby();
    dataSource = await createDataSource({ url: primary.url, poolSize: 2 }).initialize();
    moneyPool = createMoneyPool({ url: primary.url, poolSize: 2, onPoolError: () => undefined });
    observer = createTestPool(primary.url, 1);
    await renewLease('0 seconds');
    reads = new ReadDatabase(dataSource, { url: standby.url, poolSize: 2, isPooled: false }, 20);
    reads.onApplicationBootstrap();
    const options = { ...DEFAULT_BILLING_OPTIONS, auditTimeoutMs: PATIENCE_MS };
    audit = new LedgerAuditService(new LedgerAuditRepository(moneyPool, reads, systemClock), systemClock, options);
  });

  afterAll(async () => {
    audit.onModuleDestroy();
    await reads.beforeApplicationShutdown();
    await Promise.all([moneyPool.end(), observer.end(), dataSource.destroy()]);
    await Promise.all([primary.remove(), standby.remove()]);
    await endChildren();
  });

  async function renewLease(age: string): Promise<void> {
    await observer.query(
      `INSERT INTO gateway_instance (id, heartbeat_at, steady_since) VALUES ('a', clock_timestamp() - $1::interval, now())
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at`,
      [age],
    );
  }

  /** Replaces the view that the audit reads, and waits until the replica has the change. */
  async function booksAre(view: string): Promise<void> {
    await observer.query(`CREATE OR REPLACE VIEW money_violations AS ${view}`);
    await caughtUp();
  }

  async function caughtUp(): Promise<void> {
    const { rows } = await observer.query<{ at: string }>('SELECT pg_current_wal_lsn()::text AS at');
    await until('the replica to catch up', WITHIN_MS, async () => {
      const [row] = await reads.query<{ done: boolean }[]>(
        'SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= $1::pg_lsn AS done',
        [rows[0]?.at],
      );
      return row?.done === true;
    });
  }

  /** Runs an audit that is due; returns what it has stored in the primary. */
  async function runAudit() {
    await observer.query('UPDATE ledger_audit SET next_due_at = clock_timestamp()');
    await audit.poll();
    const { lastCompleted, lastFailure } = await audit.refresh();
    return {
      subjects: lastCompleted?.violations.map(({ subject }) => subject),
      ageMs: lastCompleted?.ageMs,
      lastFailure,
    };
  }

  it('reads the replica, stores the outcome in the primary, and is as old as the data that it has read', async () => {
    await until('the replica', WITHIN_MS, () => reads.source === 'replica');
    await renewLease('20 seconds');
    await booksAre(READER);
    const { subjects, ageMs } = await runAudit();
    expect(subjects).toEqual(['replica']);
    expect(ageMs).toBeGreaterThanOrEqual(20_000);
  });

  it('reads the primary while the replica is more than 30 s behind', async () => {
    await renewLease('40 seconds');
    await caughtUp();
    const { subjects, ageMs } = await runAudit();
    expect(subjects).toEqual(['primary']);
    expect(ageMs).toBeLessThan(20_000);
  });

  it('completes on the primary when the replica breaks while it is read', async () => {
    await renewLease('0 seconds');
    await until('the replica', WITHIN_MS, () => reads.source === 'replica');
    await booksAre(ENDLESS_ON_REPLICA);
    const watcher = createTestPool(standby.url, 1);
    const run = runAudit();
    await until('the audit on the replica', WITHIN_MS, async () => {
      const { rowCount } = await watcher.query(
        `SELECT FROM pg_stat_activity WHERE query LIKE '%FROM money_violations%' AND wait_event = 'PgSleep'`,
      );
      return rowCount === 1;
    });
    await watcher.end();
    await standby.killEverything();
    expect(await run).toMatchObject({ subjects: ['primary'], lastFailure: null });
  });

  it('is canceled on the replica when the process stops', async () => {
    await standby.start();
    await until('the replica', WITHIN_MS, async () => {
      await renewLease('0 seconds');
      return reads.source === 'replica';
    });
    const watcher = createTestPool(standby.url, 1);
    const isReading = async () => {
      const { rowCount } = await watcher.query(
        `SELECT FROM pg_stat_activity WHERE query LIKE '%FROM money_violations%' AND wait_event = 'PgSleep'`,
      );
      return rowCount === 1;
    };
    const run = runAudit();
    await until('the audit on the replica', WITHIN_MS, isReading);
    audit.onModuleDestroy();
    await run;
    await until('the end of its statement', WITHIN_MS, async () => !(await isReading()));
    await watcher.end();
  });
});
