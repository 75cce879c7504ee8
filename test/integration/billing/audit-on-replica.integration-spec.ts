import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { DEFAULT_BILLING_OPTIONS } from '../../../src/billing/ledger/billing-options';
import { LedgerAuditRepository } from '../../../src/billing/ledger/ledger-audit.repository';
import { LedgerAuditService } from '../../../src/billing/ledger/ledger-audit.service';
import type { ReadDatabase } from '../../../src/core/database/read-database';
import { createMoneyPool } from '../../../src/core/database/money-pool';
import { systemClock } from '../../../src/core/time/clock';
import { until } from '../../faults/figures';
import { createTestPool, PATIENCE_MS } from '../../harness/database';
import { ReadReplica } from '../../harness/read-replica';

const WITHIN_MS = 60_000;

/** A violation whose subject is the server that reads it. */
const READER = `
  SELECT 'I1 planted'::text AS invariant, CASE WHEN pg_is_in_recovery() THEN 'replica' ELSE 'primary' END AS subject,
         5::numeric AS difference_micro`;
const ENDLESS_ON_REPLICA = `${READER} FROM (SELECT CASE WHEN pg_is_in_recovery() THEN pg_sleep(600) END) pause`;

describe('the periodic audit with DATABASE_READ_URL', () => {
  let replica: ReadReplica;
  let reads: ReadDatabase;
  let moneyPool: Pool;
  let audit: LedgerAuditService;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    replica = await ReadReplica.start();
    ({ reads } = replica);
    moneyPool = createMoneyPool({ url: replica.primary.url, poolSize: 2, onPoolError: () => undefined });
    const options = { ...DEFAULT_BILLING_OPTIONS, auditTimeoutMs: PATIENCE_MS };
    audit = new LedgerAuditService(new LedgerAuditRepository(moneyPool, reads, systemClock), systemClock, options);
  });
  afterAll(async () => {
    audit.onModuleDestroy();
    await moneyPool.end();
    await replica.stop();
  });

  /** Replaces the view that the audit reads, and waits until the replica has the change. */
  async function booksAre(view: string): Promise<void> {
    await replica.writer.query(`CREATE OR REPLACE VIEW money_violations AS ${view}`);
    await caughtUp();
  }

  /** Asks the replica itself: `reads` go to the primary while it is behind. */
  async function caughtUp(): Promise<void> {
    const { rows } = await replica.writer.query<{ at: string }>('SELECT pg_current_wal_lsn()::text AS at');
    const watcher = createTestPool(replica.standby.url, 1);
    await until('the replica to catch up', WITHIN_MS, async () => {
      const { rowCount } = await watcher.query('SELECT WHERE pg_last_wal_replay_lsn() >= $1::pg_lsn', [rows[0]?.at]);
      return rowCount === 1;
    });
    await watcher.end();
  }

  /** Runs an audit that is due; returns what it has stored in the primary. */
  async function runAudit() {
    await replica.writer.query('UPDATE ledger_audit SET next_due_at = clock_timestamp()');
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
    await replica.renewLease('20 seconds');
    await booksAre(READER);
    const { subjects, ageMs } = await runAudit();
    expect(subjects).toEqual(['replica']);
    expect(ageMs).toBeGreaterThanOrEqual(20_000);
  });

  it('reads the primary while the replica is more than 30 s behind', async () => {
    await replica.renewLease('40 seconds');
    await caughtUp();
    const { subjects, ageMs } = await runAudit();
    expect(subjects).toEqual(['primary']);
    expect(ageMs).toBeLessThan(20_000);
  });

  it('completes on the primary when the replica breaks while it is read', async () => {
    // A check that read the lag of an earlier test would otherwise still send the audit to the primary.
    await replica.renewLease('40 seconds');
    await until('the primary', WITHIN_MS, () => reads.source === 'primary');
    await replica.renewLease('0 seconds');
    await until('the replica', WITHIN_MS, () => reads.source === 'replica');
    await booksAre(ENDLESS_ON_REPLICA);
    const watcher = createTestPool(replica.standby.url, 1);
    const run = runAudit();
    await until('the audit on the replica', WITHIN_MS, async () => {
      const { rowCount } = await watcher.query(
        `SELECT FROM pg_stat_activity WHERE query LIKE '%FROM money_violations%' AND wait_event = 'PgSleep'`,
      );
      return rowCount === 1;
    });
    await watcher.end();
    await replica.standby.killEverything();
    expect(await run).toMatchObject({ subjects: ['primary'], lastFailure: null });
  });

  it('is canceled on the replica when the process stops', async () => {
    await replica.standby.start();
    await until('the replica', WITHIN_MS, async () => {
      await replica.renewLease('0 seconds');
      return reads.source === 'replica';
    });
    const watcher = createTestPool(replica.standby.url, 1);
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
