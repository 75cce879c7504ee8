import { randomUUID } from 'node:crypto';
import { createDataSource } from '../../../src/database/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { createTestRedis } from '../../harness/redis';
import { type Cli, createCli } from './run-cli';

let database: TestDatabase;
let cli: Cli;
beforeAll(async () => {
  database = await createTestDatabase();
  cli = createCli({ DATABASE_URL: database.url, REDIS_URL: createTestRedis().url, API_KEY_PEPPER: 'p'.repeat(32) });
});
afterAll(async () => {
  cli.close();
  await database.drop();
});

interface Shown {
  readonly organization_id: string;
  readonly webhook_secret: string;
}

describe('org webhook-secret', () => {
  it('makes one when it is first asked for, shows the same each time, and another after a rotation', async () => {
    const { id } = await cli.json<{ id: string }>('org', 'create', '--name', 'Hooked');
    const first = await cli.json<Shown>('org', 'webhook-secret', '--org', id);
    expect(first).toEqual({ organization_id: id, webhook_secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) });
    expect((await cli.run('org', 'webhook-secret', '--org', id)).stdout).toBe(`${first.webhook_secret}\n`);

    const rotated = await cli.json<Shown>('org', 'webhook-secret', '--org', id, '--rotate');
    expect(rotated.webhook_secret).not.toBe(first.webhook_secret);
    await expect(cli.json('org', 'webhook-secret', '--org', id)).resolves.toEqual(rotated);

    const dataSource = await createDataSource({ url: database.url, poolSize: 1 }).initialize();
    const stored = JSON.stringify(await dataSource.query('SELECT * FROM organization_webhook_secret'));
    await dataSource.destroy();
    expect(stored).toContain(id);
    expect(stored).not.toContain(rotated.webhook_secret.slice('whsec_'.length));
  });

  it('says that there is no such organization', async () => {
    const { exitCode, stderr } = await cli.run('org', 'webhook-secret', '--org', randomUUID());
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'error: There is no such organization.\n' });
  });
});
