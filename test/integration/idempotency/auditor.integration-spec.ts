import type { Pool } from 'pg';
import { createTestDatabase, createTestPool, inSandbox, type TestDatabase } from '../../harness/database';
import {
  createAccount,
  settleCommand,
  startMoneyEngine,
  type Account,
  type MoneyEngine,
  requireSoundBooks,
} from '../billing/money-engine';
import { claimOf, completing, keyedCommand } from './keyed-commands';

/** As a bug in the money functions or a manual change would leave it. */
const CORRUPTIONS: readonly (readonly [invariant: string, planted: string, statement: string])[] = [
  ['I11', 'a record in progress that vanished', `DELETE FROM idempotency_record WHERE state = 'in_progress'`],
  ['I11', 'a hold that forgot its key', `UPDATE hold SET keyed = false`],
  [
    'I11',
    'a hold that ended without its record',
    `WITH ended AS (DELETE FROM hold RETURNING *)
     INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, uncollected_micro, created_at,
                                    ended_at, is_job)
     SELECT id, organization_id, key_id, 'released', amount_micro, 0, created_at, now(), false FROM ended`,
  ],
  [
    'I11',
    'a record in progress without a hold',
    `INSERT INTO idempotency_record (organization_id, operation, key, fingerprint, reservation_id)
     SELECT organization_id, operation, 'forged', fingerprint, gen_random_uuid() FROM idempotency_record LIMIT 1`,
  ],
  [
    'I11',
    'a record moved to another organization',
    `UPDATE idempotency_record SET organization_id = gen_random_uuid() WHERE state = 'in_progress'`,
  ],
  [
    'I12',
    'a completed record that tells another charge',
    `UPDATE idempotency_record SET charged_micro = charged_micro + 1 WHERE state = 'completed'`,
  ],
  [
    'I12',
    'a completed record without a reservation',
    `UPDATE idempotency_record SET reservation_id = gen_random_uuid() WHERE state = 'completed'`,
  ],
  [
    'I12',
    'a record completed while its hold is still there',
    `UPDATE idempotency_record SET state = 'completed', status = 200, headers = '{}', charged_micro = 0,
       body_stored = false, completed_at = now(), expires_at = now() WHERE state = 'in_progress'`,
  ],
];

const FORBIDDEN: readonly (readonly [name: string, statement: string])[] = [
  [
    'a completed record without its charge',
    `UPDATE idempotency_record SET charged_micro = NULL WHERE state = 'completed'`,
  ],
  ['a record in progress with a status', `UPDATE idempotency_record SET status = 200 WHERE state = 'in_progress'`],
  ['a record of an unknown state', `UPDATE idempotency_record SET state = 'lost' WHERE state = 'in_progress'`],
  ['a fingerprint of another length', `UPDATE idempotency_record SET fingerprint = '\\x00'`],
  [
    'two records of one reservation',
    `INSERT INTO idempotency_record (organization_id, operation, key, fingerprint, reservation_id)
     SELECT organization_id, operation, 'forged', fingerprint, reservation_id FROM idempotency_record LIMIT 1`,
  ],
];

describe('the auditor of idempotency', () => {
  let database: TestDatabase;
  let engine: MoneyEngine;
  let pool: Pool;
  let account: Account;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = startMoneyEngine(database.url);
    await engine.lease.renew();
    pool = createTestPool(database.url, 1);
    account = await createAccount(pool);
    const [completed, running] = [keyedCommand(account, 9n, claimOf('a')), keyedCommand(account, 9n, claimOf('b'))];
    await Promise.all([completed, running].map((command) => engine.reservations.reserve(command)));
    await engine.reservations.finish(completing(settleCommand(completed, 7n)));
  });
  afterAll(async () => {
    await pool.end();
    await engine.close();
    await database.drop();
  });

  function querySandbox<Result>(work: (query: (statement: string) => Promise<Row[]>) => Promise<Result>) {
    return inSandbox(pool, (client) => work(async (statement) => (await client.query<Row>(statement)).rows));
  }
  interface Row {
    readonly invariant: string;
  }

  it('finds nothing to complain about in honest books', async () => {
    await expect(requireSoundBooks(engine)).resolves.toBeUndefined();
  });

  it.each(CORRUPTIONS)('%s sees %s', async (invariant, _planted, statement) => {
    const seen = await querySandbox(async (query) => {
      await query('ALTER TABLE hold DISABLE TRIGGER USER');
      await query(statement);
      return query('SELECT invariant FROM money_violations');
    });
    expect(seen.map((row) => row.invariant.split(' ', 1)[0])).toContain(invariant);
  });

  it.each(FORBIDDEN)('cannot happen: %s', async (_name, statement) => {
    await querySandbox(async (query) => {
      await expect(query(statement)).rejects.toMatchObject({ code: expect.stringMatching(/^23(514|505)$/) });
    });
  });
});
