import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { BalanceAdjustmentService } from '../../../src/billing/ledger/ledger.service';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import { OperatorOrganizationService } from '../../../src/dashboard/organizations/operator-organization.service';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import { createAccount } from './money-engine';

let database: TestDatabase;
let dataSource: DataSource;
let pool: Pool;
let organizationId: string;

/** Records the settings of transactions that lock an account. */
const WATCH = `
  CREATE TABLE seen_setting (value text);
  CREATE FUNCTION see_setting() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO seen_setting VALUES (current_setting('idle_in_transaction_session_timeout'));
    RETURN NULL;
  END $$;
  CREATE TRIGGER see_setting AFTER UPDATE ON organization_account FOR EACH ROW EXECUTE FUNCTION see_setting()`;

beforeAll(async () => {
  database = await createTestDatabase();
  dataSource = await openDataSource(database.url, 2);
  pool = createTestPool(database.url, 2);
  ({ organizationId } = await createAccount(pool));
  await pool.query(WATCH);
});
afterAll(async () => {
  await pool.end();
  await dataSource.destroy();
  await database.drop();
});

describe('a hanging process holds an account lock for at most five seconds', () => {
  it.each<[string, () => Promise<unknown>]>([
    [
      'while it adjusts a balance',
      () => {
        const adjustment = { amountMicro: 5n, reference: randomUUID(), reason: 'a test' };
        return new BalanceAdjustmentService(dataSource).adjust(organizationId, adjustment, COMMAND_LINE);
      },
    ],
    [
      'while an operator sets limits',
      () => {
        const transport = { publish: () => Promise.resolve() };
        const operators = new OperatorOrganizationService(dataSource, transport);
        return operators.updateLimits(organizationId, { monthlyLimitMicro: 7n }, COMMAND_LINE);
      },
    ],
  ])('%s', async (_moment, change) => {
    await pool.query('TRUNCATE seen_setting');
    await change();
    expect((await pool.query('SELECT value FROM seen_setting')).rows).toEqual([{ value: '5s' }]);
  });
});
