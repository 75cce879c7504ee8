import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { createTestDatabase, createTestPool, inSandbox, type TestDatabase } from '../../harness/database';

let database: TestDatabase;
let pool: Pool;
const organizationId = randomUUID();
const purchaseId = randomUUID();

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createTestPool(database.url, 1);
  await pool.query(`INSERT INTO organization (id, name) VALUES ($1, 'test')`, [organizationId]);
  await pool.query('INSERT INTO organization_account (organization_id) VALUES ($1)', [organizationId]);
  await pool.query(
    `INSERT INTO purchase (id, organization_id, provider, state, amount_micro, payment_reference, refunded_micro, disputed_micro,
                           highest_refunded_micro, owed_micro, created_at, expires_at, ended_at)
     VALUES ($1, $2, 'stripe', 'paid', 50000, 'pi_1', 30000, 40000, 35000, 10000, now(), now(), now())`,
    [purchaseId, organizationId],
  );
  await pool.query(`SELECT money_post($1, 'topup', 50000, 'stripe:pi_1')`, [organizationId]);
  await pool.query(`INSERT INTO payment_refund VALUES ('stripe', 're_1', 'pi_1', 5000, true),
    ('stripe', 're_2', 'pi_1', 20000, false), ('stripe', 're_3', 'pi_of_nobody', 20000, true)`);
  await pool.query(`SELECT money_post($1, 'topup', 7, 'invoice 1')`, [organizationId]);
  await pool.query(`SELECT money_post($1, 'refund', -40000, 'stripe:pi_1:evt_1')`, [organizationId]);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

describe('the auditor', () => {
  it('reports no violations when purchases match the ledger', async () => {
    expect((await pool.query('SELECT * FROM money_violations')).rows).toEqual([]);
  });

  it.each([
    ['I13', 'a paid purchase without its top-up', `UPDATE purchase SET payment_reference = 'pi_2'`],
    ['I13', 'a purchase of another amount than its top-up', `UPDATE purchase SET amount_micro = 60000`],
    [
      'I13',
      'a top-up of a purchase that is not paid',
      `UPDATE purchase SET state = 'mismatch', payment_reference = NULL`,
    ],
    ['I13', 'a top-up of another organization', `UPDATE purchase SET organization_id = gen_random_uuid()`],
    ['I13', 'a payment without a purchase', `SELECT money_post(organization_id, 'topup', 5, 'test:5') FROM purchase`],
    ['I14', 'a refund that is not booked', `UPDATE purchase SET refunded_micro = 0`],
    ['I14', 'an unfounded debt', `UPDATE purchase SET owed_micro = 9999`],
    [
      'I14',
      'a refund of no purchase',
      `SELECT money_post(organization_id, 'refund', -5, 'stripe:pi_3:evt_3') FROM purchase`,
    ],
    [
      'I14',
      'a return of too much',
      `SELECT money_post(organization_id, 'adjust', 1, 'stripe:pi_1:evt_4') FROM purchase`,
    ],
    ['I15', 'a failed refund that is still taken back', `UPDATE payment_refund SET has_failed = true`],
    ['I15', 'a refund that was never reported', `UPDATE purchase SET highest_refunded_micro = 0`],
  ])('%s reports %s', async (invariant, _planted, statement) => {
    const seen = await inSandbox(pool, async (client) => {
      expect((await client.query(statement)).rowCount).toBeGreaterThan(0);
      const { rows } = await client.query<{ invariant: string }>('SELECT invariant FROM money_violations');
      return rows.map((row) => row.invariant.slice(0, 3));
    });
    expect(seen).toContain(invariant);
  });

  it.each([
    [
      'a payment for two purchases',
      `INSERT INTO purchase (id, organization_id, provider, state, amount_micro, payment_reference,
        created_at, expires_at, ended_at) SELECT gen_random_uuid(), organization_id, provider, state, amount_micro,
        payment_reference, created_at, expires_at, ended_at FROM purchase`,
    ],
    ['a paid purchase without its payment', `UPDATE purchase SET payment_reference = NULL`],
    ['half a cent', `UPDATE purchase SET amount_micro = 5000`],
    ['a negative debt', `UPDATE purchase SET owed_micro = -1`],
    ['an ended purchase without an end', `UPDATE purchase SET ended_at = NULL`],
  ])('the database refuses %s', async (_name, statement) => {
    await inSandbox(pool, async (client) => {
      await expect(client.query(statement)).rejects.toMatchObject({ code: expect.stringMatching(/^23/) });
    });
  });
});
