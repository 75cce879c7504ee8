import type { Pool, PoolClient } from 'pg';
import type { DataSource } from 'typeorm';
import { LedgerAuditRepository } from '../../../src/billing/ledger/ledger-audit.repository';
import { type LedgerCheck, readViolations } from '../../../src/billing/ledger/ledger-checks';
import {
  AccountStatementRepository,
  type LedgerFilter,
} from '../../../src/billing/payments/account-statement.repository';
import { encodeCursor } from '../../../src/core/types/cursor';
import { systemClock } from '../../../src/core/time/clock';
import { createTestDatabase, createTestPool, inSandbox, NO_REPLICA, type TestDatabase } from '../../harness/database';
import { insertPastRequests } from './past-requests';

const DAYS = 40;
const OPEN_DAYS = 3;
/** An entry of a day belongs to a request of at most so many days before. */
const DAYS_OF_ENTRIES = 9;
const VERIFIED_DAY = 8;

/** Replaces the first partition by one for each of the past days. */
const ADD_PAST_DAYS = `
  DO $$
  DECLARE
    v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  BEGIN
    DROP TABLE ended_reservation_past;
    FOR v_day IN REVERSE ${DAYS}..1 LOOP
      EXECUTE format('CREATE TABLE %I PARTITION OF ended_reservation FOR VALUES FROM (%L) TO (%L)',
        'ended_reservation_' || to_char(v_today - v_day, 'YYYYMMDD'), first_id_of(v_today - v_day),
        first_id_of(v_today - v_day + 1));
    END LOOP;
  END
  $$`;
/** The days before today whose partitions the transaction has read, after the day before the first request. */
const READ_DAYS = `
  SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date - to_date(right(relname, 8), 'YYYYMMDD') AS age
    FROM pg_stat_xact_user_tables
   WHERE relname LIKE 'ended_reservation_2%' AND seq_scan + COALESCE(idx_scan, 0) > 0
     AND right(relname, 8) > to_char((clock_timestamp() AT TIME ZONE 'UTC')::date - ${DAYS}, 'YYYYMMDD') ORDER BY 1`;
/** The partitions before those of open days that the transaction has locked. */
const LOCKED_PARTITIONS = `
  SELECT DISTINCT c.relname AS name FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
   WHERE l.pid = pg_backend_pid() AND c.relkind = 'r' AND c.relname LIKE 'ended_reservation_2%'
     AND right(c.relname, 8) < to_char((clock_timestamp() AT TIME ZONE 'UTC')::date - ${OPEN_DAYS} - 1, 'YYYYMMDD')
     AND right(c.relname, 8) > to_char((clock_timestamp() AT TIME ZONE 'UTC')::date - ${DAYS}, 'YYYYMMDD')`;
/** The days before today, from the newest, whose partitions the transaction has locked. */
const AGES_OF_LOCKED_PARTITIONS = `
  SELECT DISTINCT (clock_timestamp() AT TIME ZONE 'UTC')::date - to_date(right(c.relname, 8), 'YYYYMMDD') AS age
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
   WHERE l.pid = pg_backend_pid() AND c.relkind = 'r' AND c.relname LIKE 'ended_reservation_2%'
     AND right(c.relname, 8) <= to_char((clock_timestamp() AT TIME ZONE 'UTC')::date, 'YYYYMMDD') ORDER BY 1`;
const DAY_MS = 86_400_000;
/** By so many days, an entry and the id of its request may differ for a statement. */
const MARGIN_DAYS = 31;

describe('books with partitions of many days', () => {
  let database: TestDatabase;
  let pool: Pool;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createTestPool(database.url, 1);
    await pool.query(ADD_PAST_DAYS);
    await insertPastRequests(pool, { count: 4_000, days: DAYS - 1, organizations: 3, keysPerOrganization: 1 });
    for (let age = DAYS; age > OPEN_DAYS; age--) {
      await pool.query(`SELECT ledger_close((clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer)`, [age]);
    }
    await pool.query('ANALYZE');
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  /** The oldest and the newest partition that a check of sound books reads, in days before today. */
  async function ageOfReads(check: LedgerCheck): Promise<{ readonly oldest: number; readonly newest: number }> {
    // The counts of the transaction begin with those that its connection has not reported yet.
    await pool.query('SELECT pg_stat_force_next_flush()');
    return inSandbox(pool, async (client: PoolClient) => {
      expect(await readViolations(client, check, null)).toEqual([]);
      const { rows } = await client.query<{ age: number }>(READ_DAYS);
      return { oldest: rows.at(-1)?.age ?? NaN, newest: rows[0]?.age ?? NaN };
    });
  }

  it('reads the entries of a day, and the entries before them, in the partitions of their days', async () => {
    const { rows } = await pool.query<{ day: string }>(
      `SELECT ((clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer)::text AS day`,
      [VERIFIED_DAY],
    );
    const { oldest, newest } = await ageOfReads({ view: 'balance_violations', day: rows[0]?.day ?? '' });
    expect(oldest).toBeLessThanOrEqual(VERIFIED_DAY + DAYS_OF_ENTRIES);
    expect(newest).toBeGreaterThanOrEqual(VERIFIED_DAY - 1);
  });

  it('reads the latest entry of each account in open days and in those of its last charges', async () => {
    const { oldest } = await ageOfReads({ view: 'money_violations' });
    expect(oldest).toBeLessThanOrEqual(OPEN_DAYS + 1 + DAYS_OF_ENTRIES);
  });

  it('plans only partitions of open days when a process asks for the last audit', async () => {
    await inSandbox(pool, async (client) => {
      const audits = new LedgerAuditRepository(client as unknown as Pool, NO_REPLICA, systemClock);
      const { rows } = await client.query<{ day: string }>(
        `SELECT ((clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer)::text AS day`,
        [OPEN_DAYS],
      );
      expect((await audits.read()).oldestOpenDay).toBe(rows[0]?.day);
      expect((await client.query(LOCKED_PARTITIONS)).rows).toEqual([]);
    });
  });

  it('lists entries of a time range, and those after a cursor, in the partitions of about these days', async () => {
    const lockedBy = (filter: LedgerFilter, cursor: string | null) =>
      inSandbox(pool, async (client) => {
        const query = async (sql: string, values: unknown[]) => (await client.query(sql, values)).rows as object[];
        const [{ id } = { id: '' }] = (await query('SELECT organization_id AS id FROM organization_account', [])) as {
          readonly id: string;
        }[];
        const statement = new AccountStatementRepository({ query } as unknown as DataSource);
        const { items } = await statement.findLedgerLines(id, filter, { limit: 4_000, cursor });
        const locked = await query(AGES_OF_LOCKED_PARTITIONS, []);
        return { items, ages: locked.map((row) => (row as { readonly age: number }).age) };
      });
    const ago = (days: number): Date => new Date(systemClock.now() - days * DAY_MS);

    const all = await lockedBy({}, null);
    expect([all.ages.at(0), all.ages.at(-1)]).toEqual([0, DAYS]);
    const [from, to] = [ago(3), ago(DAYS - 2)];
    const since = await lockedBy({ from }, null);
    expect([since.ages.at(0), since.ages.at(-1)]).toEqual([0, 3 + MARGIN_DAYS]);
    expect(since.items).toEqual(all.items.filter(({ createdAt }) => createdAt >= from));
    const until = await lockedBy({ to }, null);
    expect([until.ages.at(0), until.ages.at(-1)]).toEqual([DAYS - 2 - MARGIN_DAYS, DAYS]);
    expect(until.items).toEqual(all.items.filter(({ createdAt }) => createdAt < to));
    const last = await lockedBy({}, encodeCursor([to.toISOString(), '0']));
    expect([last.ages.at(0), last.items]).toEqual([DAYS - 2 - MARGIN_DAYS, until.items]);
    expect(until.items.length).toBeGreaterThan(10);
  });

  it('finds an update lost right after a credit, on the second of two open days that follow a closed one', async () => {
    const { found, lost } = await inSandbox(pool, async (client) => {
      await client.query(`
        ALTER TABLE ended_reservation DISABLE TRIGGER USER; ALTER TABLE ledger_day DISABLE TRIGGER USER;
        CREATE TEMPORARY TABLE charge AS
          SELECT row_number() OVER (ORDER BY r.id) AS n, r.id, r.organization_id, r.charged_micro AS micro,
                 r.balance_after_micro AS balance_micro, r.ended_at
            FROM ended_reservation r, (SELECT organization_id FROM organization_account LIMIT 1) a,
                 (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date - ${VERIFIED_DAY} AS day) closed
           WHERE r.organization_id = a.organization_id AND r.charged_micro > 0
             AND r.id BETWEEN first_id_of(closed.day + 2) AND last_id_of(closed.day + 2) ORDER BY r.id LIMIT 2;
        DELETE FROM ledger_day WHERE day IN ((clock_timestamp() AT TIME ZONE 'UTC')::date - ${VERIFIED_DAY - 1},
                                             (clock_timestamp() AT TIME ZONE 'UTC')::date - ${VERIFIED_DAY - 2});
        INSERT INTO ledger_posting (organization_id, kind, debit_account, credit_account, amount_micro,
                                    organization_delta_micro, balance_after_micro, external_reference, created_at)
          SELECT organization_id, 'topup', 'cash', 'organization', 5, 5, balance_micro + micro + 5, 'a credit',
                 ended_at - interval '1 millisecond' FROM charge WHERE n = 1;
        -- The second charge does not see the first.
        UPDATE ended_reservation r
           SET balance_after_micro = r.balance_after_micro + 5 + CASE WHEN r.id > first.id THEN first.micro ELSE 0 END
          FROM charge first WHERE first.n = 1 AND r.organization_id = first.organization_id AND r.id >= first.id`);
      const { rows } = await client.query<{ entry: string; day: string }>(
        `SELECT r.entry_id::text AS entry, ((clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer)::text AS day
           FROM ended_reservation r JOIN charge c USING (id) WHERE c.n = 2`,
        [VERIFIED_DAY],
      );
      const violations = await readViolations(client, { view: 'balance_violations', day: rows[0]?.day ?? '' }, null);
      return { found: violations.map(({ subject }) => subject), lost: rows[0]?.entry };
    });
    expect(found).toContain(lost);
  });

  it('finds the latest entry of an account that was last charged long ago', async () => {
    const found = await inSandbox(pool, async (client) => {
      await client.query(`
        ALTER TABLE ended_reservation DISABLE TRIGGER USER; ALTER TABLE ledger_closing DISABLE TRIGGER USER;
        CREATE TEMPORARY TABLE idle AS SELECT organization_id AS id FROM organization_account LIMIT 1;
        DELETE FROM ended_reservation WHERE organization_id IN (SELECT id FROM idle)
           AND id >= first_id_of((clock_timestamp() AT TIME ZONE 'UTC')::date - 20);
        DELETE FROM ledger_closing WHERE organization_id IN (SELECT id FROM idle)
           AND day >= (clock_timestamp() AT TIME ZONE 'UTC')::date - 20`);
      return (await readViolations(client, { view: 'money_violations' }, null)).filter(({ invariant }) =>
        invariant.startsWith('I21 '),
      );
    });
    expect(found).toHaveLength(1);
  });
});
