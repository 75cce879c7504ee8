import { randomUUID } from 'node:crypto';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { serverSettings } from '../../harness/servers';
import { type Cli, createCli } from './run-cli';

let database: TestDatabase;
let cli: Cli;
beforeAll(async () => {
  database = await createTestDatabase();
  cli = createCli({ ...serverSettings(database.url), API_KEY_PEPPER: 'p'.repeat(32) });
});
afterAll(async () => {
  cli.close();
  await database.drop();
});

interface Shown {
  readonly organization_id: string;
  readonly webhook_secret: string;
}

async function secretRows(): Promise<object[]> {
  const dataSource = await openDataSource(database.url, 1);
  try {
    return await dataSource.query<object[]>('SELECT * FROM organization_webhook_secret');
  } finally {
    await dataSource.destroy();
  }
}

describe('org webhook-secret', () => {
  it('makes one when it is first asked for, shows the same each time, and another after a rotation', async () => {
    const { id } = await cli.json<{ id: string }>('org', 'create', '--name', 'Hooked');
    const first = await cli.json<Shown>('org', 'webhook-secret', '--org', id);
    expect(first).toEqual({ organization_id: id, webhook_secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) });
    expect((await cli.run('org', 'webhook-secret', '--org', id)).stdout).toBe(`${first.webhook_secret}\n`);

    // Showing it here does not count: its organization may still read it once.
    expect(await secretRows()).toMatchObject([{ revealed_at: null }]);

    const rotated = await cli.json<Shown>('org', 'webhook-secret', '--org', id, '--rotate');
    expect(rotated.webhook_secret).not.toBe(first.webhook_secret);
    await expect(cli.json('org', 'webhook-secret', '--org', id)).resolves.toEqual(rotated);

    const rows = await secretRows();
    expect(rows).toMatchObject([{ organization_id: id, revealed_at: expect.any(Date) }]);
    const stored = JSON.stringify(rows);
    expect(stored).not.toContain(rotated.webhook_secret.slice('whsec_'.length));
  });

  it('says that there is no such organization', async () => {
    const { exitCode, stderr } = await cli.run('org', 'webhook-secret', '--org', randomUUID());
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'error: There is no such organization.\n' });
  });
});

describe('webhook', () => {
  it('sends tests, tells of them, and sends them again', async () => {
    const { id: org } = await cli.json<{ id: string }>('org', 'create', '--name', 'Tested');
    const url = 'https://hooks.example.com/hook';
    const sent = await cli.json<{ id: string; state: string }>('webhook', 'test', '--org', org, '--url', url);
    expect(sent).toMatchObject({ event: 'webhook.test', state: 'pending', attempts: 0, url });
    expect(await cli.json('webhook', 'list', '--org', org, '--state', 'pending')).toMatchObject([{ id: sent.id }]);
    const again = await cli.json<object>('webhook', 'redeliver', '--org', org, '--delivery', sent.id);
    expect(again).toMatchObject({ id: sent.id, state: 'pending' });
    const { stdout } = await cli.run('webhook', 'show', '--org', org, '--delivery', sent.id);
    expect(stdout).toContain('No attempts yet.');
  });
});
