import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { createTestDatabase, createTestPool, inSandbox, type TestDatabase } from '../../harness/database';
import {
  createAccount,
  releaseCommand,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
  type Account,
  type MoneyEngine,
  requireSoundBooks,
} from './money-engine';

/** Disables constraints and triggers, to simulate a bug in them or a superuser. */
const CORRUPTIONS: readonly (readonly [invariant: string, planted: string, statement: string])[] = [
  [
    'I1',
    'a balance changed by hand',
    `UPDATE organization_account SET balance_micro = balance_micro + 1 WHERE organization_id = $1`,
  ],
  [
    'I1',
    'a top-up without balance',
    `INSERT INTO ledger_posting (organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro, external_reference) VALUES ($1, 'topup', 'cash', 'organization', 5, 5, 'forged')`,
  ],
  ['I1', 'an account removed', `DELETE FROM organization_account WHERE organization_id = $1`],
  [
    'I2',
    'a leaked hold',
    `UPDATE organization_account SET reserved_micro = reserved_micro + 1 WHERE organization_id = $1`,
  ],
  ['I2', 'a hold that vanished', `DELETE FROM hold WHERE organization_id = $1`],
  [
    'I3',
    'more reserved than there is',
    `UPDATE organization_account SET reserved_micro = balance_micro + 1 WHERE organization_id = $1`,
  ],
  ['I3', 'a negative reserve', `UPDATE organization_account SET reserved_micro = -1 WHERE organization_id = $1`],
  [
    'I1',
    'a settlement that vanished',
    `DELETE FROM ended_reservation WHERE organization_id = $1 AND state = 'settled'`,
  ],
  [
    'I1',
    'a charge of another amount',
    `UPDATE ended_reservation SET charged_micro = charged_micro + 1 WHERE organization_id = $1 AND state = 'settled'`,
  ],
  [
    'I1',
    'a charge booked to another organization',
    `UPDATE ended_reservation SET organization_id = gen_random_uuid() WHERE organization_id = $1 AND state = 'settled'`,
  ],
  [
    'I1',
    'a charge that no balance knows',
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro, entry_id, created_at, ended_at, is_job) VALUES (gen_random_uuid(), $1, $2, 'settled', 5, 5, 0, 1, now(), now(), false)`,
  ],
  [
    'I4',
    'a settlement without its entry',
    `UPDATE ended_reservation SET entry_id = NULL WHERE organization_id = $1 AND state = 'settled'`,
  ],
  [
    'I4',
    'a charge of a released reservation',
    `UPDATE ended_reservation SET state = 'released' WHERE organization_id = $1 AND state = 'settled'`,
  ],
  [
    'I4',
    'an entry of a released reservation',
    `UPDATE ended_reservation SET entry_id = 1 WHERE organization_id = $1 AND state = 'released'`,
  ],
  [
    'I5',
    'an ended reservation that is held again',
    `INSERT INTO hold (organization_id, id, key_id, amount_micro, created_at, expires_at, keyed, owner) SELECT organization_id, id, key_id, amount_micro, created_at, now(), false, '' FROM ended_reservation WHERE organization_id = $1 AND state = 'settled'`,
  ],
  ['I6', 'spending missing from a window', `UPDATE spend_window SET spent_micro = spent_micro - 1 WHERE scope_id = $1`],
  [
    'I6',
    'a hold missing from a window',
    `UPDATE spend_window SET reserved_micro = reserved_micro - 1 WHERE scope_id = $2 AND scope = 2`,
  ],
  [
    'I6',
    'errors that cancel each other out',
    `UPDATE spend_window SET reserved_micro = reserved_micro + 1, spent_micro = spent_micro - 1 WHERE scope_id = $2 AND scope = 3`,
  ],
  ['I6', 'a window removed', `DELETE FROM spend_window WHERE scope_id = $1`],
  [
    'I6',
    'a window of nothing',
    `INSERT INTO spend_window (organization_id, scope, scope_id, window_start, spent_micro) VALUES ($1, 2, $2, '2020-01-01', 1)`,
  ],
  [
    'I6',
    'a window of another organization',
    `UPDATE spend_window SET organization_id = gen_random_uuid() WHERE scope_id = $2 AND scope = 2`,
  ],
  [
    'I9',
    'a hold whose owner died',
    `UPDATE gateway_instance SET heartbeat_at = clock_timestamp() - interval '31 seconds' WHERE id = (SELECT owner FROM hold WHERE organization_id = $1 LIMIT 1)`,
  ],
  [
    'I9',
    'a hold long overdue',
    `UPDATE hold SET expires_at = clock_timestamp() - interval '31 seconds' WHERE organization_id = $1`,
  ],
];

const FORBIDDEN: readonly (readonly [name: string, statement: string])[] = [
  ['a posting changed', `UPDATE ledger_posting SET amount_micro = 1 WHERE organization_id = $1`],
  ['a posting removed', `DELETE FROM ledger_posting WHERE organization_id = $1`],
  ['the postings emptied', `TRUNCATE ledger_posting`],
  [
    'an ended reservation of another state',
    `UPDATE ended_reservation SET state = 'expired' WHERE organization_id = $1 AND state = 'released'`,
  ],
  [
    'an ended reservation charged again',
    `UPDATE ended_reservation SET charged_micro = charged_micro + 1 WHERE organization_id = $1 AND state = 'settled'`,
  ],
  ['an ended reservation removed', `DELETE FROM ended_reservation WHERE organization_id = $1`],
  ['a hold made larger', `UPDATE hold SET amount_micro = amount_micro + 1 WHERE organization_id = $1`],
  ['a hold moved to another window', `UPDATE hold SET created_at = created_at + '1 day' WHERE organization_id = $1`],
  [
    'a hold moved to another organization',
    `UPDATE hold SET organization_id = gen_random_uuid() WHERE organization_id = $1`,
  ],
  ['a hold removed', `DELETE FROM hold WHERE organization_id = $1`],
  [
    'a settlement without a charge',
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, uncollected_micro, created_at, ended_at, is_job) VALUES (gen_random_uuid(), $1, $2, 'settled', 5, 0, now(), now(), false)`,
  ],
  [
    'a release with a charge',
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro, entry_id, created_at, ended_at, is_job) VALUES (gen_random_uuid(), $1, $2, 'released', 5, 1, 0, 1, now(), now(), false)`,
  ],
  [
    'a negative balance',
    `UPDATE organization_account SET balance_micro = -1, reserved_micro = 0 WHERE organization_id = $1`,
  ],
  [
    'a reserve beyond the balance',
    `UPDATE organization_account SET reserved_micro = balance_micro + 1 WHERE organization_id = $1`,
  ],
  ['a negative reserve', `UPDATE organization_account SET reserved_micro = -1 WHERE organization_id = $1`],
  ['a negative window', `UPDATE spend_window SET spent_micro = -1 WHERE scope_id = $1`],
  [
    'a second charge',
    `INSERT INTO ended_reservation SELECT * FROM ended_reservation WHERE organization_id = $1 AND state = 'settled'`,
  ],
  [
    'a payment credited twice',
    `INSERT INTO ledger_posting (organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro, external_reference) SELECT organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro, external_reference FROM ledger_posting WHERE organization_id = $1 AND kind = 'topup'`,
  ],
  [
    'a charge that credits',
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro, created_at, ended_at, is_job) VALUES (gen_random_uuid(), $1, $2, 'settled', 5, -1, 0, now(), now(), false)`,
  ],
  [
    'a charge that is no entry',
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, charged_micro, uncollected_micro, created_at, ended_at, is_job) VALUES (gen_random_uuid(), $1, $2, 'settled', 5, 5, 0, now(), now(), false)`,
  ],
  [
    'an entry of nothing',
    `INSERT INTO ledger_posting (organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro, external_reference) VALUES ($1, 'topup', 'cash', 'organization', 0, 0, 'zero')`,
  ],
  [
    'a top-up without a reference',
    `INSERT INTO ledger_posting (organization_id, kind, debit_account, credit_account, amount_micro, organization_delta_micro) VALUES ($1, 'topup', 'cash', 'organization', 5, 5)`,
  ],
];

describe('the auditor', () => {
  let database: TestDatabase;
  let engine: MoneyEngine;
  let pool: Pool;
  let account: Account;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = startMoneyEngine(database.url);
    await engine.lease.renew();
    pool = createTestPool(database.url, 1);
    account = await createAccount(pool, { balanceMicro: 1_000n });
    const [settled, released, held] = [
      reserveCommand(account, 100n),
      reserveCommand(account, 100n),
      reserveCommand(account, 100n),
    ];
    await Promise.all([settled, released, held].map((command) => engine.reservations.reserve(command)));
    await engine.reservations.finish(settleCommand(settled, 70n));
    await engine.reservations.finish(releaseCommand(released));
  });
  afterAll(async () => {
    await pool.end();
    await engine.close();
    await database.drop();
  });

  /** Inserts the two ids as text, because not every statement uses both as parameters. */
  function run(client: PoolClient, statement: string) {
    return client.query(
      statement.replaceAll('$1', `'${account.organizationId}'`).replaceAll('$2', `'${account.keyId}'`),
    );
  }

  it('reports no violations in a consistent ledger', async () => {
    await expect(requireSoundBooks(engine)).resolves.toBeUndefined();
  });

  it.each(CORRUPTIONS)('%s reports %s', async (invariant, _planted, statement) => {
    const seen = await inSandbox(pool, async (client) => {
      // A steady instance that should have swept; without one, an orphaned hold is not a violation.
      await client.query(`
        INSERT INTO gateway_instance (id, steady_since) VALUES ('${randomUUID()}', now() - interval '1 hour');
        ALTER TABLE organization_account DROP CONSTRAINT organization_account_available_check,
                                         DROP CONSTRAINT organization_account_reserved_check;
        ALTER TABLE spend_window DROP CONSTRAINT spend_window_spent_check, DROP CONSTRAINT spend_window_reserved_check;
        ALTER TABLE hold DISABLE TRIGGER USER;
        ALTER TABLE ended_reservation DISABLE TRIGGER USER;
        ALTER TABLE ended_reservation DROP CONSTRAINT ended_reservation_charge_check,
                                      DROP CONSTRAINT ended_reservation_entry_check`);
      const { rowCount } = await run(client, statement);
      expect(rowCount).toBeGreaterThan(0);
      const { rows } = await client.query<{ invariant: string }>('SELECT invariant FROM money_violations');
      return rows.map((row) => row.invariant.split(' ', 1)[0]);
    });
    expect(seen).toContain(invariant);
  });

  it.each(FORBIDDEN)('the database refuses %s', async (_name, statement) => {
    await inSandbox(pool, async (client) => {
      await expect(run(client, statement)).rejects.toMatchObject({
        code: expect.stringMatching(/^23(502|514|505)$/),
      });
    });
  });

  it('reports no orphaned hold while no instance was steady enough to sweep it', async () => {
    const rows = await inSandbox(pool, async (client) => {
      await client.query(`UPDATE gateway_instance SET heartbeat_at = now() - interval '1 hour'`);
      return (await client.query('SELECT * FROM money_violations')).rows;
    });
    expect(rows).toEqual([]);
  });
});
