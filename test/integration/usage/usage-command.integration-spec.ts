import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { UsageSeries } from '../../../src/contract/dashboard';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import { serverSettings } from '../../harness/servers';
import { createAccount } from '../billing/money-engine';
import { type Cli, createCli } from '../cli/run-cli';
import { insertReceipts } from './receipts';

let database: TestDatabase;
let pool: Pool;
let cli: Cli;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createTestPool(database.url, 1);
  cli = createCli({ ...serverSettings(database.url), API_KEY_PEPPER: 'p'.repeat(32) });
});

afterAll(async () => {
  cli.close();
  await pool.end();
  await database.drop();
});

describe('usage show', () => {
  it('prints the usage of each model, like the dashboard', async () => {
    const { organizationId } = await createAccount(pool);
    await insertReceipts(pool, { organizationId, count: 200, hours: 48, models: 2 });
    const { rows } = await pool.query<{ model: string; paid: string }>(
      'SELECT model, sum(charged_micro) AS paid FROM usage_record GROUP BY 1 ORDER BY 2 DESC',
    );
    const series = await cli.json<UsageSeries>('usage', 'show', '--org', organizationId);
    expect(series.data.map(({ group, total }) => [group, total.cost_micro])).toEqual(
      rows.map(({ model, paid }) => [model, Number(paid)]),
    );
    expect(series.total).toMatchObject({ requests: 200, errors: 2 });

    const { stdout } = await cli.run('usage', 'show', '--org', organizationId, '--group-by', 'none');
    expect(stdout).toMatch(/^NONE +REQUESTS +ERRORS/m);
    expect(stdout).toMatch(/^all +200 +2 /m);
  });

  it('reports no usage, an unknown organization, and an invalid period', async () => {
    const { organizationId } = await createAccount(pool);
    const [nothing, unknown, backwards] = await Promise.all([
      cli.run('usage', 'show', '--org', organizationId),
      cli.run('usage', 'show', '--org', randomUUID()),
      cli.run('usage', 'show', '--org', organizationId, '--from', '2026-02-01', '--to', '2026-01-01'),
    ]);
    expect(nothing.stdout).toMatch(/No requests\.\n$/);
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, 'error: There is no such organization.\n']);
    expect([backwards.exitCode, backwards.stderr]).toEqual([2, "error: option '--from': from must be before to.\n"]);
  });
});
