import type { Pool } from 'pg';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, createTestPool, type TestDatabase } from '../harness/database';
import { GatewayProcess, runCommand } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { allowedMs, report, until } from './figures';

/** A ledger whose audit exceeds every time limit. */
const ENDLESS_BOOKS = `
  CREATE OR REPLACE VIEW money_violations AS
  SELECT ''::text AS invariant, ''::text AS subject, 0::numeric AS difference_micro FROM pg_sleep(600)`;

describe('a gateway whose ledger audit times out', () => {
  let database: TestDatabase;
  let pool: Pool;
  const settings = () => ({ databaseUrl: database.url, redisUrl: createTestRedis().url });

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createTestPool(database.url, 1);
    await pool.query(ENDLESS_BOOKS);
  });
  beforeEach(() =>
    pool.query('UPDATE ledger_audit SET next_due_at = clock_timestamp(), failed_at = NULL, failure = NULL'),
  );
  afterEach(endChildren);
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  const audits = async (): Promise<number> => {
    const { rows } = await pool.query(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
          AND query LIKE '%FROM money_violations%'`,
    );
    return rows.length;
  };

  it('stays ready, and reports the failed audit in its log and its probe', async () => {
    const gateway = await GatewayProcess.start({ ...settings(), environment: { LEDGER_AUDIT_TIMEOUT_MS: '100' } });
    const checks = async () => (await (await fetch(`${gateway.url}/ready`)).json()) as { checks: { ledger: string } };
    await until('the failure in the probe', 10_000, async () => (await checks()).checks.ledger === 'stale');
    expect(await gateway.probe()).toBe(200);
    await until('the failure in the log', 10_000, () => gateway.log.includes('"event":"ledger_audit_failed"'));
    expect(await audits()).toBe(0);
  });

  it('stops within two seconds during an audit, without leaving a query running', async () => {
    const gateway = await GatewayProcess.start(settings());
    await until('an audit', 10_000, async () => (await audits()) === 1);
    const stoppedAtMs = performance.now();
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    const stopMs = Math.round(performance.now() - stoppedAtMs);
    report('F-05b', { stopMs });
    expect(stopMs).toBeLessThan(allowedMs(2_000));
    expect(await audits()).toBe(0);
  });

  it('can be verified from the command line with a given timeout, and reports a timeout in one line', async () => {
    const { code, output } = await runCommand(settings(), 'ledger', 'verify', '--timeout-seconds', '1');
    expect({ code, output }).toEqual({
      code: 1,
      output:
        'error: The ledger could not be verified; its state is unknown: The audit did not complete within its limit of 1 s.\n',
    });
  });
});
