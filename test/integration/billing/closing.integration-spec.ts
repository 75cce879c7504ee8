import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { type BillingOptions, DEFAULT_BILLING_OPTIONS } from '../../../src/billing/ledger/billing-options';
import { LedgerAuditRepository } from '../../../src/billing/ledger/ledger-audit.repository';
import { LedgerAuditService } from '../../../src/billing/ledger/ledger-audit.service';
import { type LedgerViolation, readViolations } from '../../../src/billing/ledger/ledger-checks';
import { type Closing, LedgerClosingService } from '../../../src/billing/ledger/ledger-closing.service';
import { systemClock } from '../../../src/core/time/clock';
import { uuidV7 } from '../../../src/core/types/ids';
import {
  createTestDatabase,
  createTestPool,
  inSandbox,
  NO_REPLICA,
  PATIENCE_MS,
  type TestDatabase,
} from '../../harness/database';
import { FULL, report } from '../../faults/figures';
import {
  type Account,
  createAccount,
  type MoneyEngine,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
} from './money-engine';
import { chooseRows, CORRUPTIONS, FORBIDDEN, named, type Rows, UNLOCKED } from './closing-corruptions';
import { insertPastRequests } from './past-requests';

const REQUESTS = FULL ? 2_000_000 : 40_000;
const DAYS = 60;
const DAY_MS = 86_400_000;

describe('closed days of the ledger', () => {
  let database: TestDatabase;
  let engine: MoneyEngine;
  let pool: Pool;
  let rows: Rows;
  let soundBefore: readonly LedgerViolation[];
  let closings: readonly Closing[];

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = startMoneyEngine(database.url);
    await engine.lease.renew();
    pool = createTestPool(database.url, 2);
    await insertPastRequests(pool, { count: REQUESTS, days: DAYS, organizations: 20, keysPerOrganization: 3 });
    soundBefore = await engine.ledger.verify();
    closings = await close();
    rows = await chooseRows(pool, 40, 3);
  }, 600_000);
  afterAll(async () => {
    await pool.end();
    await engine.close();
    await database.drop();
  });

  const close = () => startClosing().close();
  const startClosing = () =>
    new LedgerClosingService(engine.pool, { ...DEFAULT_BILLING_OPTIONS, closingTimeoutMs: PATIENCE_MS });

  /** The audit of a process, always due, which by default verifies one closed and one open day. */
  function startAudit(overrides: Partial<BillingOptions> = {}): { run(): Promise<LedgerAuditService> } {
    const options = { ...DEFAULT_BILLING_OPTIONS, auditTimeoutMs: PATIENCE_MS, daysBudgetMs: 0, ...overrides };
    const audit = new LedgerAuditService(
      new LedgerAuditRepository(engine.pool, NO_REPLICA, systemClock),
      systemClock,
      options,
    );
    return {
      run: async () => {
        await pool.query('UPDATE ledger_audit SET next_due_at = clock_timestamp()');
        await audit.poll();
        return audit;
      },
    };
  }

  it('are all days of requests but the last three, and leave the books sound', async () => {
    expect(soundBefore).toEqual([]);
    expect(new Set(closings)).toEqual(new Set(['closed']));
    const { rows: open } = await pool.query<{ days: number }>(
      `SELECT (now() AT TIME ZONE 'UTC')::date - min(day_of_id(r.id)) AS days
         FROM ledger_open_range o JOIN reservation r ON r.id BETWEEN o.low AND o.high`,
    );
    expect(open).toEqual([{ days: 3 }]);
    const startedAtMs = performance.now();
    expect(await (await startAudit().run()).refresh()).toMatchObject({ lastCompleted: { violationCount: 0 } });
    report('audit', { requests: REQUESTS, ms: Math.round(performance.now() - startedAtMs) });
    expect(await engine.ledger.verify()).toEqual([]);
    expect(await close()).toEqual([]);
  }, 300_000);

  it.each(CORRUPTIONS)('%s reports %s', async (invariant, _planted, statement) => {
    const reported = await inSandbox(pool, async (client) => {
      await client.query(UNLOCKED.join(';'));
      await client.query(named(statement, rows));
      const found = [
        await readViolations(client, { view: 'money_violations' }, null),
        await readViolations(client, { view: 'closed_day_violations', day: rows.day }, null),
        await readViolations(client, { view: 'balance_violations', day: rows.opened }, null),
      ];
      return found.flat().map((violation) => violation.invariant.split(' ', 1)[0]);
    });
    expect(reported).toContain(invariant);
  });

  it.each(FORBIDDEN)('the database refuses %s', async (_name, statement) => {
    await inSandbox(pool, async (client) => {
      await expect(client.query(named(statement, rows))).rejects.toMatchObject({ code: '23514' });
    });
  });

  it('I6 reports a window of a closed month with one of its days', async () => {
    const reported = await inSandbox(pool, async (client) => {
      await client.query(
        `UPDATE spend_window SET spent_micro = spent_micro + 1 WHERE scope = 3 AND window_start = $1`,
        [rows.month],
      );
      const { rows: days } = await client.query<{ day: string }>(
        'SELECT day::text FROM ledger_day WHERE closed_at IS NOT NULL',
      );
      const found = [];
      for (const { day } of days)
        found.push(await readViolations(client, { view: 'closed_day_violations', day }, null));
      return found.flat().map(({ subject }) => subject);
    });
    // 20 organizations with 3 keys each, exactly once.
    expect(reported.length).toBe(60);
    expect(new Set(reported).size).toBe(60);
  });

  it('leave the balances of open entries to be verified in turn: an audit soon finds a changed one', async () => {
    const change = (by: number) =>
      inUnlocked(
        `UPDATE ended_reservation SET balance_after_micro = balance_after_micro + ${by} WHERE id = '${rows.open}'`,
      );
    const spy = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    await change(1);
    const states: string[] = [];
    for (let runs = 0; runs < 10; runs++) states.push((await startAudit().run()).state);
    expect(states).toContain('failed');
    expect(await engine.ledger.verify()).toMatchObject([{ differenceMicro: 1n }, { differenceMicro: -1n }]);
    await change(-1);
    for (let runs = 0; runs < 10; runs++) await startAudit().run();
    expect((await startAudit().run()).state).toBe('ok');
    spy.mockRestore();
  }, 120_000);

  it('are verified in turn: an audit soon finds a changed request, and all report it until it is restored', async () => {
    const change = async (by: number) => {
      await inUnlocked(
        `UPDATE ended_reservation SET ended_at = ended_at + make_interval(secs => ${by}) WHERE id = '${rows.closed}'`,
      );
    };
    const auditUntil = async (isSo: (state: string) => boolean): Promise<LedgerAuditService> => {
      for (let runs = 0; runs < DAYS; runs++) {
        const audit = await startAudit({ daysBudgetMs: 200 }).run();
        if (isSo(audit.state)) return audit;
      }
      throw new Error('no audit noticed');
    };
    const spy = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    await change(1);
    const first = await auditUntil((state) => state === 'failed');
    const reported = { invariant: 'I22 a closed day is as it was closed', subject: `${rows.day} ${rows.organization}` };
    expect((await first.refresh()).lastCompleted?.violations).toContainEqual(reported);
    expect((await (await startAudit().run()).refresh()).lastCompleted?.violations).toContainEqual(reported);
    await change(-1);
    await auditUntil((state) => state === 'ok');
    spy.mockRestore();
    expect(await engine.ledger.verify()).toEqual([]);
  }, 120_000);

  /** Holds an amount on a day in the past, like a job that has been running since then. */
  async function holdInThePast(account: Account, days: number): Promise<{ id: string; at: Date; day: string }> {
    const at = new Date(systemClock.now() - days * DAY_MS);
    const id = uuidV7(at.getTime());
    await pool.query(
      `SELECT money_reserve(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], '{9}', '{9999999}', 'media_job', $4)`,
      [id, account.organizationId, account.keyId, at],
    );
    return { id, at, day: at.toISOString().slice(0, 10) };
  }

  const settle = (account: Account, { id, at }: { readonly id: string; readonly at: Date }) =>
    pool.query(`SELECT money_finish(ARRAY[$1::uuid], ARRAY[$2::uuid], '{settled}', '{7}', NULL, $3)`, [
      id,
      account.organizationId,
      at,
    ]);

  it('wait until their last hold has ended', async () => {
    const account = await createAccount(pool);
    const hold = await holdInThePast(account, 100);
    expect(await close()).toEqual(['held']);
    await settle(account, hold);
    expect(await close()).toEqual(['closed']);
    expect(await engine.ledger.verify()).toEqual([]);
  });

  it('a day with a broken invariant stays open, and audits report it until it can be closed', async () => {
    const account = await createAccount(pool);
    const hold = await holdInThePast(account, 120);
    await settle(account, hold);
    const changeBalance = (by: number) =>
      inUnlocked(
        `UPDATE ended_reservation SET balance_after_micro = balance_after_micro + ${by} WHERE id = '${hold.id}'`,
      );
    const next = reserveCommand(account, 9n);
    await engine.reservations.reserve(next);
    await engine.reservations.finish(settleCommand(next, 7n, {}));
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    await changeBalance(1);
    expect(await close()).toEqual(['broken']);
    expect(errors).toHaveBeenCalledWith(
      expect.objectContaining({ event: 'ledger_day_broken', day: hold.day, difference_micro: '1' }),
    );
    expect((await startAudit().run()).state).toBe('failed');
    await changeBalance(-1);
    expect(await close()).toEqual(['closed']);
    // The day of the next request may have been reported as well, until it is verified again.
    for (let runs = 0; runs < 5; runs++) await startAudit().run();
    expect((await startAudit().run()).state).toBe('ok');
    errors.mockRestore();
  });

  async function inUnlocked(statement: string): Promise<void> {
    const client = await pool.connect();
    await client.query(
      `BEGIN; ALTER TABLE ended_reservation DISABLE TRIGGER USER; ${statement};
       ALTER TABLE ended_reservation ENABLE TRIGGER USER; COMMIT`,
    );
    client.release();
  }

  it('do not block requests while they are being closed, and exclude a late write of another process', async () => {
    const account = await createAccount(pool);
    const hold = await holdInThePast(account, 140);
    await settle(account, hold);
    const closing = await pool.connect();
    await closing.query('BEGIN');
    expect((await closing.query('SELECT * FROM ledger_close($1)', [hold.day])).rows).toEqual([]);

    const command = reserveCommand(account, 9n);
    await engine.reservations.reserve(command);
    await engine.reservations.finish(settleCommand(command, 7n, {}));

    const late = pool
      .query(`SELECT money_void(ARRAY[first_id_of($1)], ARRAY[$2::uuid], ARRAY[$3::uuid], 'late')`, [
        hold.day,
        account.organizationId,
        account.keyId,
      ])
      .then(
        () => 'written',
        (error: { code?: string }) => error.code,
      );
    await Promise.race([late, untilBlocked('money_void')]);
    await closing.query('COMMIT');
    closing.release();
    expect(await late).toBe('23514');
    expect(await engine.ledger.verify()).toEqual([]);
  });

  /** Resolves when a statement with this text waits for an advisory lock. */
  async function untilBlocked(text: string): Promise<void> {
    const isBlocked = async () => {
      const { rows: blocked } = await engine.pool.query(
        `SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event = 'advisory' AND strpos(query, $1) > 0`,
        [text],
      );
      return blocked.length > 0;
    };
    while (!(await isBlocked())) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  it('are closed by one process at a time', async () => {
    const account = await createAccount(pool);
    await settle(account, await holdInThePast(account, 160));
    const leaseUntil = (until: string) =>
      pool.query(`UPDATE task_lease SET owner = 'another process', until = $1 WHERE name = 'ledger_closing'`, [until]);
    await leaseUntil('infinity');
    expect(await close()).toEqual(['skipped']);
    await leaseUntil('now');
    expect(await close()).toEqual(['closed']);
  });

  it('stay open when the process that closes them has lost its lease', async () => {
    const account = await createAccount(pool);
    await settle(account, await holdInThePast(account, 170));
    await pool.query(
      `CREATE FUNCTION test_lose_lease() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         UPDATE task_lease SET owner = 'another process' WHERE name = 'ledger_closing';
         RETURN NULL;
       END
       $$;
       CREATE TRIGGER test_lose_lease AFTER INSERT ON ledger_day FOR EACH ROW EXECUTE FUNCTION test_lose_lease()`,
    );
    expect(await close()).toEqual(['skipped']);
    await pool.query('DROP FUNCTION test_lose_lease CASCADE');
    expect(await close()).toEqual(['closed']);
  });
});
