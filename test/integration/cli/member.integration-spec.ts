import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import { systemClock } from '../../../src/core/time/clock';
import { ApiKeyService } from '../../../src/auth/api-keys/api-key.service';
import { OrganizationService } from '../../../src/dashboard/organizations/organization.service';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { serverSettings } from '../../harness/servers';
import { createCli, type Cli } from './run-cli';

const PEPPER = 'pepper-of-this-test-0123456789abcdef';
const NO_SUBSCRIBERS = { publish: async () => 0 };

describe('the command line', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let cli: Cli;
  let organizationId: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 2);
    cli = createCli({ ...serverSettings(database.url), API_KEY_PEPPER: PEPPER });
    const organizations = new OrganizationService(dataSource, NO_SUBSCRIBERS, systemClock);
    organizationId = (await organizations.create({ name: 'Acme' }, COMMAND_LINE)).id;
  });

  afterAll(async () => {
    cli.close();
    await dataSource.destroy();
    await database.drop();
  });

  const actionsOf = async (targetId: string): Promise<string[]> => {
    const rows = await dataSource.query<{ action: string }[]>(
      `SELECT action FROM audit_entry WHERE target_id = $1 AND actor_kind = 'command' ORDER BY id`,
      [targetId],
    );
    return rows.map(({ action }) => action);
  };

  it('lists members, gives them roles and removes them, but for the last owner', async () => {
    const [owner, viewer] = [randomUUID(), randomUUID()];
    await dataSource.query(
      `INSERT INTO user_account (id, email, email_key, name, password_hash)
       SELECT id, id || '@example.com', id || '@example.com', 'Member', 'none' FROM unnest($1::uuid[]) AS u (id)`,
      [[owner, viewer]],
    );
    await dataSource.query(
      `INSERT INTO organization_member (organization_id, user_id, role) VALUES ($1, $2, 'owner'), ($1, $3, 'viewer')`,
      [organizationId, owner, viewer],
    );
    const member = ['--org', organizationId, '--user'];
    const [refused, changed] = await Promise.all([
      cli.run('member', 'remove', ...member, owner),
      cli.json('member', 'role', ...member, viewer, '--role', 'admin'),
    ]);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('last owner') });
    expect(changed).toMatchObject({ user_id: viewer, role: 'admin' });
    await expect(cli.json('member', 'list', '--org', organizationId)).resolves.toEqual({
      members: expect.arrayContaining([
        expect.objectContaining({ user_id: owner, role: 'owner' }),
        expect.objectContaining({ user_id: viewer, role: 'admin' }),
      ]),
    });
    await cli.json('member', 'remove', ...member, viewer);
    expect(await actionsOf(viewer)).toEqual(['member.updated', 'member.removed']);
  });

  it('restricts keys, and takes restrictions away', async () => {
    const keys = new ApiKeyService(dataSource, NO_SUBSCRIBERS, systemClock, PEPPER);
    const { apiKey } = await keys.create(organizationId, { allowedModels: ['mock/*'] }, COMMAND_LINE);
    const restrict = ['key', 'restrict', '--key', apiKey.id];
    const restricted = cli.json(...restrict, '--allowed-ips', '10.0.0.1/8', '--allowed-models', 'none', '--name', 'ci');
    await expect(restricted).resolves.toMatchObject({
      name: 'ci',
      allowed_ips: ['10.0.0.0/8'],
      allowed_models: null,
      expires_at: null,
    });
    await expect(cli.json(...restrict, '--expires-at', '2100-01-01')).resolves.toMatchObject({
      name: 'ci',
      allowed_ips: ['10.0.0.0/8'],
      expires_at: '2100-01-01T00:00:00.000Z',
    });
    expect(await actionsOf(apiKey.id)).toEqual(['key.created', 'key.updated', 'key.updated']);
  });
});
