import type { DataSource } from 'typeorm';
import { createDataSource } from '../../../src/core/database/data-source';
import { MIGRATIONS } from '../../../src/core/database/migrations';
import { runMigrations } from '../../../src/core/database/run-migrations';
import { createEmptyTestDatabase, type TestDatabase } from '../../harness/database';

const UPGRADE = MIGRATIONS.findIndex((migration) => migration.name.startsWith('EndedReservations'));

/** An organization with a top-up of 1,000, charges of 40 and 2, and a hold of 100; one charge is older than recorded balances. */
const BOOKS = `
  INSERT INTO organization (id, name) VALUES ('${id(1)}', 'books');
  INSERT INTO organization_account (organization_id, balance_micro, reserved_micro) VALUES ('${id(1)}', 958, 100);
  INSERT INTO reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro, day, month,
                           owner, expires_at, created_at, ended_at, keyed)
  VALUES ('${id(10)}', '${id(1)}', '${id(2)}', 'settled', 50, 40, 3, '2026-05-31', '2026-05-01', 'a', '2026-06-01',
          '2026-05-31T23:59:59.9Z', '2026-06-01T00:00:01Z', false),
         ('${id(11)}', '${id(1)}', '${id(2)}', 'settled', 50, 2, 0, '2026-06-01', '2026-06-01', 'media_job', '2026-06-02',
          '2026-06-01T01:00Z', '2026-06-01T02:00Z', true),
         ('${id(12)}', '${id(1)}', '${id(2)}', 'settled', 50, 0, 0, '2026-06-01', '2026-06-01', 'a', '2026-06-02',
          '2026-06-01T01:00Z', '2026-06-01T02:00Z', false),
         ('${id(13)}', '${id(1)}', '${id(2)}', 'released', 50, NULL, 0, '2026-06-01', '2026-06-01', 'a', '2026-06-02',
          '2026-06-01T01:00Z', '2026-06-01T02:00Z', false),
         ('${id(14)}', '${id(1)}', '${id(2)}', 'expired', 50, NULL, 0, '2026-06-01', '2026-06-01', 'a', '2026-06-02',
          '2026-06-01T01:00Z', '2026-06-01T02:00Z', false),
         ('${id(15)}', '${id(1)}', '${id(2)}', 'held', 100, NULL, 0, '2026-06-01', '2026-06-01', 'a', now() + interval '1 hour',
          '2026-06-01T01:00Z', NULL, false);
  INSERT INTO ledger_entry (organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro,
                            balance_after_micro, reservation_id, external_reference, created_at)
  VALUES ('${id(1)}', 'topup', 'cash', 'organization', 1000, 1000, NULL, NULL, 'opening', '2026-05-01'),
         ('${id(1)}', 'charge', 'organization', 'revenue', 40, -40, NULL, '${id(10)}', NULL, '2026-06-01T00:00:01Z'),
         ('${id(1)}', 'charge', 'organization', 'revenue', 2, -2, 958, '${id(11)}', NULL, '2026-06-01T02:00Z');
  INSERT INTO spend_window (scope, scope_id, window_start, spent_micro, reserved_micro)
  VALUES (1, '${id(1)}', '2026-05-01', 40, 0), (1, '${id(1)}', '2026-06-01', 2, 100),
         (2, '${id(2)}', '2026-05-31', 40, 0), (2, '${id(2)}', '2026-06-01', 2, 100),
         (3, '${id(2)}', '2026-05-01', 40, 0), (3, '${id(2)}', '2026-06-01', 2, 100);
  INSERT INTO ledger_day (day, closed_at) VALUES ('2026-05-31', now())`;

const RESERVATIONS = `
  SELECT id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro, day::text, month::text,
         owner IS NOT DISTINCT FROM 'media_job' AS is_job, created_at, ended_at
    FROM reservation ORDER BY id`;
const ENTRIES = `
  SELECT id, organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro,
         balance_after_micro, reservation_id, external_reference, created_at
    FROM ledger_entry ORDER BY id`;

/** The UUIDv7 of 2026-06-01 with a number. */
function id(number: number): string {
  return `019e8000-0000-7000-8000-${String(number).padStart(12, '0')}`;
}

describe('the upgrade to reservations that end in another table', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeEach(async () => {
    database = await createEmptyTestDatabase();
    const earlier = createDataSource({ url: database.url, poolSize: 1, migrations: MIGRATIONS.slice(0, UPGRADE) });
    dataSource = await earlier.initialize();
    await dataSource.runMigrations();
    await dataSource.query(BOOKS);
  });

  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it('keeps every reservation and entry, and the books sound', async () => {
    const read = async () => [await dataSource.query(RESERVATIONS), await dataSource.query(ENTRIES)];
    const before = await read();
    await runMigrations(database.url);
    expect(await read()).toEqual(before);
    expect(await dataSource.query(`SELECT id FROM hold`)).toEqual([{ id: id(15) }]);
    expect(await dataSource.query(`SELECT id FROM ended_reservation WHERE is_job`)).toEqual([{ id: id(11) }]);
    expect(await dataSource.query(`SELECT * FROM money_violations WHERE invariant NOT LIKE 'I9 %'`)).toEqual([]);
    expect(await dataSource.query(`SELECT money_post('${id(1)}', 'topup', 1, 'next')`)).toEqual([
      { money_post: 'applied' },
    ]);
    const [latest] = await dataSource.query(`SELECT max(id) AS id, count(DISTINCT id) FROM ledger_entry`);
    expect(latest).toEqual({ id: String(BigInt(before[1].at(-1).id) + 1n), count: '4' });
  });

  it('closes days again, with checksums of the new rows', async () => {
    await runMigrations(database.url);
    await dataSource.query(`SELECT money_finish('{${id(15)}}', '{${id(1)}}', '{released}', '{0}')`);
    expect(await dataSource.query('SELECT * FROM ledger_day')).toEqual([]);
    expect(await dataSource.query(`SELECT * FROM ledger_close(day_of_id('${id(10)}'))`)).toEqual([]);
    expect(await dataSource.query(`SELECT * FROM closed_day_violations(day_of_id('${id(10)}'))`)).toEqual([]);
    expect(await dataSource.query('SELECT * FROM money_violations')).toEqual([]);
  });

  it.each([
    [
      'differs from its reservation',
      `UPDATE ledger_entry SET amount_micro = 41, organization_delta_micro = -41 WHERE id = 2`,
    ],
    ['belongs to another organization', `UPDATE ledger_entry SET organization_id = '${id(9)}' WHERE id = 2`],
    ['has no reservation', `DELETE FROM reservation WHERE id = '${id(10)}'`],
    ['is missing', 'DELETE FROM ledger_entry WHERE id = 2'],
  ])('is refused, and changes nothing, when a charge %s', async (_what, statement) => {
    await dataSource.query(statement);
    const before = await dataSource.query(ENTRIES);
    await expect(runMigrations(database.url)).rejects.toThrow('repair what gateway ledger verify reports');
    expect(await dataSource.query(ENTRIES)).toEqual(before);
  });
});
