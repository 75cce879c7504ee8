import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import { serverSettings } from '../../harness/servers';
import { createCli, type Cli } from './run-cli';

let database: TestDatabase;
let pool: Pool;
let cli: Cli;
let organizationId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createTestPool(database.url, 1);
  cli = createCli({
    ...serverSettings(database.url),
    API_KEY_PEPPER: 'pepper-of-this-test-0123456789abcdef',
  });
  organizationId = (await cli.json<{ id: string }>('org', 'create', '--name', 'Acme')).id;
});
afterAll(async () => {
  cli.close();
  await pool.end();
  await database.drop();
});

describe('the commands about purchases', () => {
  it('list each purchase with its state', async () => {
    const id = randomUUID();
    await pool.query(
      `INSERT INTO purchase (id, organization_id, provider, state, amount_micro, failure, created_at, expires_at, ended_at)
       VALUES ($1, $2, 'stripe', 'mismatch', 50000, 'Another amount was paid.', '2026-11-21', now(), now())`,
      [id, organizationId],
    );
    const listed = await cli.json('purchase', 'list', '--org', organizationId);
    expect(listed).toEqual({
      purchases: [
        {
          id,
          provider: 'stripe',
          status: 'mismatch',
          amount_micro: 50_000,
          refunded_micro: 0,
          disputed_micro: 0,
          owed_micro: 0,
          payment_reference: null,
          failure: 'Another amount was paid.',
          created_at: expect.any(String),
        },
      ],
    });
  });

  it('set each limit alone, and give it back to the platform', async () => {
    const limit = (...options: string[]) => cli.json('purchase', 'limit', '--org', organizationId, ...options);
    await expect(limit('--day-micro', '7')).resolves.toMatchObject({ purchase_limit_day_micro: 7 });
    await expect(limit('--month-micro', '9', '--day-micro', 'none')).resolves.toEqual({
      organization_id: organizationId,
      purchase_limit_day_micro: null,
      purchase_limit_month_micro: 9,
    });
  });
});

describe('credit by hand', () => {
  it('cannot take the reference of a payment', async () => {
    const credit = ['org', 'credit', '--org', organizationId, '--amount-micro', '5', '--ref', 'stripe:pi_1'];
    expect(await cli.run(...credit)).toMatchObject({
      exitCode: expect.any(Number),
      stderr: expect.stringContaining('stripe:'),
    });
    expect((await pool.query('SELECT FROM ledger_entry')).rowCount).toBe(0);
  });
});
