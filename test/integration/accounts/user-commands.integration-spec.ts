import type { DataSource } from 'typeorm';
import { PasswordHasher } from '../../../src/dashboard/accounts/password-hasher';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { serverSettings } from '../../harness/servers';
import { createCli, type Cli } from '../cli/run-cli';

interface UserRecord {
  readonly id: string;
  readonly email: string;
  readonly status: string;
  readonly is_operator: boolean;
  readonly password: string;
}

const EMAIL = 'ada@example.com';

describe('commands for users', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let cli: Cli;
  const hasher = new PasswordHasher();

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 2);
    const pepper = 'pepper-of-this-test-0123456789abcdef';
    cli = createCli({ ...serverSettings(database.url), API_KEY_PEPPER: pepper });
  });
  afterAll(async () => {
    cli.close();
    await dataSource.destroy();
    await database.drop();
  });

  const verifies = async (password: string) => {
    const [row] = await dataSource.query<{ password_hash: string }[]>('SELECT password_hash FROM user_account');
    return (await hasher.verify(row?.password_hash ?? null, password)).matches;
  };

  it('make an account with a password that is shown once, and administer it, leaving entries in the audit log', async () => {
    const organization = await cli.json<{ id: string }>('org', 'create', '--name', 'Engines');
    const create = ['user', 'create', '--email', EMAIL, '--name', 'Ada', '--org', organization.id, '--role', 'admin'];
    const created = await cli.json<UserRecord>(...create);
    expect(created).toMatchObject({ email: EMAIL, status: 'active', is_operator: false });
    await expect(verifies(created.password)).resolves.toBe(true);

    const again = await cli.run(...create);
    expect(again).toMatchObject({ exitCode: 1, stdout: '' });
    expect(again.stderr).toContain('An account with this e-mail already exists.');

    const fromInput = await cli.run('user', 'password', '--email', EMAIL, '--password-stdin');
    expect(fromInput).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('standard input: password') });

    const user = (command: string, ...options: string[]) =>
      cli.json<UserRecord>('user', command, '--email', EMAIL, ...options);
    await expect(user('operator', '--grant')).resolves.toMatchObject({ is_operator: true });
    await expect(user('disable')).resolves.toMatchObject({ status: 'disabled' });
    await expect(user('enable')).resolves.toMatchObject({ status: 'active' });
    const { password } = await user('password');
    expect([await verifies(created.password), await verifies(password)]).toEqual([false, true]);
    const { users } = await cli.json<{ users: UserRecord[] }>('user', 'list');
    expect(users).toEqual([expect.objectContaining({ id: created.id, email: EMAIL, is_operator: true })]);

    const entries = await dataSource.query<{ action: string; actor_kind: string }[]>(
      `SELECT action, actor_kind FROM audit_entry WHERE target_id = $1 ORDER BY id`,
      [created.id],
    );
    expect(entries.map(({ action }) => action)).toEqual([
      'user.created',
      'user.operator_set',
      'user.disabled',
      'user.enabled',
      'user.password_set',
    ]);
    expect(new Set(entries.map((entry) => entry.actor_kind))).toEqual(new Set(['command']));
    const members = await dataSource.query('SELECT role FROM organization_member WHERE user_id = $1', [created.id]);
    expect(members).toEqual([{ role: 'admin' }]);
  }, 120_000);

  it('do not make an operator of who may not be who he says', async () => {
    const email = 'other@example.com';
    await dataSource.query(
      `INSERT INTO user_account (id, email, email_key, name, password_hash) VALUES (gen_random_uuid(), $1, $1, 'S', 'none')`,
      [email],
    );
    const grant = await cli.run('user', 'operator', '--email', email, '--grant');
    expect(grant).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('not verified') });
    const [row] = await dataSource.query<object[]>('SELECT is_operator FROM user_account WHERE email = $1', [email]);
    expect(row).toEqual({ is_operator: false });
  });
});
