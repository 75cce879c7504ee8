import { randomUUID } from 'node:crypto';
import { on } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { DataSource } from 'typeorm';
import { hasValidShape } from '../../../src/auth/api-keys/api-key';
import { ApiKeyRepository } from '../../../src/auth/api-keys/api-key.repository';
import { readDeploymentId } from '../../../src/core/redis/deployment-identity';
import { KEY_INVALIDATION_CHANNEL } from '../../../src/auth/api-keys/key-invalidation';
import { DEFAULT_MAX_API_KEYS } from '../../../src/core/database/entities/organization.entity';
import { MIGRATIONS } from '../../../src/core/database/migrations';
import { openDataSource } from '../../harness/data-source';
import { createEmptyTestDatabase, createTestDatabase, type TestDatabase } from '../../harness/database';
import { createTestRedis } from '../../harness/redis';
import { serverSettings } from '../../harness/servers';
import { createBuiltCli, createCli, runUnread, type Cli } from './run-cli';

const PEPPER = 'pepper-of-this-test-0123456789abcdef';

interface OrganizationRecord {
  readonly id: string;
  readonly name: string;
  readonly status: string;
}

interface KeyRecord {
  readonly id: string;
  readonly key: string;
  readonly status: string;
}

describe('the command line', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let cli: Cli;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 2);
    cli = createCli({ ...serverSettings(database.url), API_KEY_PEPPER: PEPPER });
  });

  afterAll(async () => {
    cli.close();
    await dataSource.destroy();
    await database.drop();
  });

  const createOrganization = (name = 'Acme') => cli.json<OrganizationRecord>('org', 'create', '--name', name);

  describe('organizations', () => {
    it('have limits for all their keys together, each of which is set or taken away alone', async () => {
      const limits = (record: object) => expect.objectContaining(record);
      const { id } = await cli.json<OrganizationRecord>(
        'org',
        'create',
        '--name',
        'Limited',
        '--rps',
        '5',
        '--tpm',
        '900',
      );
      const change = (...options: string[]) => cli.json('org', 'limit', '--org', id, ...options);
      await expect(change('--rpm', '60', '--tpm', 'none')).resolves.toEqual(
        limits({ requests_per_second: 5, requests_per_minute: 60, tokens_per_minute: null, concurrency: null }),
      );
      await expect(change('--concurrency', '8')).resolves.toEqual(
        limits({ requests_per_second: 5, requests_per_minute: 60, tokens_per_minute: null, concurrency: 8 }),
      );
      const refused = await cli.run('org', 'limit', '--org', id, '--monthly-limit-micro', '7', '--rps', '0');
      expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--rps') });
      await expect(cli.json('org', 'show', '--org', id)).resolves.toEqual(limits({ monthly_limit_micro: null }));
    });

    it('are created, listed, credited once per reference, limited and shown', async () => {
      const organization = await createOrganization('Müller & Söhne');
      expect(organization).toMatchObject({ name: 'Müller & Söhne', status: 'active' });

      const { organizations } = await cli.json<{ organizations: OrganizationRecord[] }>('org', 'list');
      expect(organizations).toContainEqual(organization);

      const credit = ['org', 'credit', '--org', organization.id, '--amount-micro', '25000000', '--ref', 'invoice-1'];
      await expect(cli.json(...credit)).resolves.toMatchObject({ applied: true, balance_micro: 25_000_000 });
      await expect(cli.json(...credit)).resolves.toMatchObject({ applied: false, balance_micro: 25_000_000 });

      const shown = { ...organization, balance_micro: 25_000_000, held_micro: 0, available_micro: 25_000_000 };
      const limit = ['org', 'limit', '--org', organization.id, '--monthly-limit-micro'];
      await expect(cli.json(...limit, '7000000')).resolves.toMatchObject({ ...shown, monthly_limit_micro: 7_000_000 });
      await expect(cli.json(...limit, 'none')).resolves.toMatchObject({ ...shown, monthly_limit_micro: null });
      await expect(cli.json('org', 'show', '--org', organization.id)).resolves.toEqual({
        ...shown,
        month_spent_micro: 0,
        monthly_limit_micro: null,
        own_monthly_limit_micro: null,
      });
    });

    it('have a maximum of API keys, which is set, shown and enforced', async () => {
      const { id } = await createOrganization();
      const change = (limit: string) => cli.json('org', 'limit', '--org', id, '--max-api-keys', limit);
      await expect(change('1')).resolves.toMatchObject({ max_api_keys: 1 });
      await cli.json('key', 'create', '--org', id, '--name', 'first');
      const second = await cli.run('key', 'create', '--org', id, '--name', 'second');
      expect(second).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('API keys') });
      const refused = await cli.run('org', 'limit', '--org', id, '--max-api-keys', '1000001', '--rpm', '60');
      expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--max-api-keys') });
      await expect(cli.json('org', 'show', '--org', id)).resolves.toMatchObject({
        max_api_keys: 1,
        requests_per_minute: null,
      });
      await expect(change('none')).resolves.toMatchObject({ max_api_keys: DEFAULT_MAX_API_KEYS });
    });

    it('are suspended and activated', async () => {
      const { id } = await createOrganization();
      await expect(cli.json('org', 'suspend', '--org', id)).resolves.toMatchObject({ id, status: 'suspended' });
      await expect(cli.json('org', 'activate', '--org', id)).resolves.toMatchObject({ id, status: 'active' });
    });
  });

  describe('keys', () => {
    it('are created with every setting, and verify', async () => {
      const { id: organizationId } = await createOrganization();
      const settings =
        '--name ci --expires-at 2099-12-31T12:00:00Z --allowed-ips 10.1.2.3/8,2001:db8::/32 ' +
        '--allowed-models mock/chat-1,openai/* --allowed-modalities text,audio --rps 1 --rpm 2 --tpm 3 ' +
        '--concurrency 4 --daily-budget-micro 5 --monthly-budget-micro 6';
      const created = await cli.json<KeyRecord>('key', 'create', '--org', organizationId, ...settings.split(' '));
      expect(hasValidShape(created.key)).toBe(true);
      expect(created).toMatchObject({
        organization_id: organizationId,
        name: 'ci',
        status: 'active',
        expires_at: '2099-12-31T12:00:00.000Z',
        allowed_ips: ['10.0.0.0/8', '2001:db8::/32'],
        allowed_models: ['mock/chat-1', 'openai/*'],
        allowed_modalities: ['text', 'audio'],
        requests_per_second: 1,
        requests_per_minute: 2,
        tokens_per_minute: 3,
        concurrency: 4,
        daily_budget_micro: 5,
        monthly_budget_micro: 6,
      });
      const stored = await new ApiKeyRepository(dataSource, PEPPER).findByKey(created.key);
      expect(stored?.principal).toMatchObject({ keyId: created.id, organizationId });
    });

    it('have limits and budgets, each of which is set or taken away alone; running gateways receive it', async () => {
      const { id: organizationId } = await createOrganization();
      const given = ['--name', 'limited', '--rps', '5', '--tpm', '900', '--daily-budget-micro', '70'];
      const { key: _shownOnce, ...created } = await cli.json<KeyRecord>(
        'key',
        'create',
        '--org',
        organizationId,
        ...given,
      );
      // Ready first: a client that subscribes earlier may send its ready check on a connection that subscribed already.
      const subscriber = new Redis(createTestRedis().url, { lazyConnect: true });
      await subscriber.connect();
      await subscriber.subscribe(`${await readDeploymentId(dataSource)}:${KEY_INVALIDATION_CHANNEL}`);
      const published = nextMessage(subscriber, `key:${created.id}`);

      const change = (...options: string[]) => cli.json('key', 'limit', '--key', created.id, ...options);
      const changed = { ...created, requests_per_minute: 60, tokens_per_minute: null, monthly_budget_micro: 900 };
      await expect(change('--rpm', '60', '--tpm', 'none', '--monthly-budget-micro', '900')).resolves.toEqual(changed);
      await published;
      subscriber.disconnect();
      const rest = { concurrency: 8, daily_budget_micro: null, monthly_budget_micro: 0 };
      await expect(
        change('--concurrency', '8', '--daily-budget-micro', 'none', '--monthly-budget-micro', '0'),
      ).resolves.toEqual({ ...changed, ...rest });
      await expect(change()).resolves.toEqual({ ...changed, ...rest });

      const text = await cli.run('key', 'limit', '--key', created.id, '--rps', 'none');
      expect(text.stdout).toMatch(/^Requests per second: +not limited$/m);
      expect(text.stdout).toMatch(/^Monthly budget: +0 \(0\.000000 USD\)$/m);
      await cli.json('key', 'revoke', '--key', created.id);
      await expect(cli.run('key', 'limit', '--key', created.id, '--rps', '1')).resolves.toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('revoked'),
      });
    });

    it('are disabled, enabled, rotated and revoked, and never shown again', async () => {
      const { id: organizationId } = await createOrganization();
      const { id, key } = await cli.json<KeyRecord>('key', 'create', '--org', organizationId);
      await expect(cli.json('key', 'disable', '--key', id)).resolves.toMatchObject({ id, status: 'disabled' });
      await expect(cli.json('key', 'enable', '--key', id)).resolves.toMatchObject({ id, status: 'active' });

      const rotated = await cli.json<KeyRecord>('key', 'rotate', '--key', id, '--grace-seconds', '3600');
      expect(rotated).toMatchObject({ status: 'active', replaced: { id, replaced_by: rotated.id, status: 'active' } });
      expect(rotated.key).not.toBe(key);
      await expect(cli.json('key', 'revoke', '--key', id)).resolves.toMatchObject({ id, status: 'revoked' });

      const list = await cli.run('key', 'list', '--org', organizationId, '--json');
      expect(JSON.parse(list.stdout)).toMatchObject({ keys: [{ id, status: 'revoked' }, { id: rotated.id }] });
      expect(list.stdout).not.toContain(key.slice(11));
      expect(list.stdout).not.toContain('digest');
    });

    it('are listed with how many count and how many the organization may have', async () => {
      const { id: organizationId } = await createOrganization();
      await cli.json('org', 'limit', '--org', organizationId, '--max-api-keys', '5');
      const [first] = await Promise.all(
        ['a', 'b', 'c'].map((name) => cli.json<KeyRecord>('key', 'create', '--org', organizationId, '--name', name)),
      );
      await cli.json('key', 'revoke', '--key', first?.id ?? '');
      await expect(cli.json('key', 'list', '--org', organizationId)).resolves.toMatchObject({ max_api_keys: 5 });
      const { stdout } = await cli.run('key', 'list', '--org', organizationId);
      expect(stdout).toContain('2 of at most 5 keys');
    });
  });

  describe('the catalogue', () => {
    it('is checked and imported; importing again changes nothing', async () => {
      const empty = await createEmptyTestDatabase();
      const fresh = createCli({ ...serverSettings(empty.url), API_KEY_PEPPER: PEPPER });
      await fresh.json('migrate');
      await expect(fresh.json('catalog', 'check')).resolves.toMatchObject({ valid: true, errors: [] });
      await expect(fresh.json('catalog', 'import')).resolves.toMatchObject({
        added: expect.arrayContaining(['mock/chat-1']),
      });
      await expect(fresh.json('catalog', 'import')).resolves.toMatchObject({ added: [], changed: [], prices: 0 });
      fresh.close();
      await empty.drop();
    });

    it('with one fault is reported as such, exit code 1', async () => {
      const directory = mkdtempSync(join(tmpdir(), 'gateway-catalogue-'));
      writeFileSync(join(directory, 'models.yaml'), 'models: 1');
      const faulty = createCli({ ...serverSettings(database.url), CATALOG_DIR: directory });
      const { exitCode, stdout } = await faulty.run('catalog', 'check');
      expect([exitCode, stdout]).toEqual([1, expect.stringMatching(/The catalogue has 1 error\.\n$/)]);
      faulty.close();
    });

    it('are compared with a price list, exit code 1 when a price differs', async () => {
      const file = join(mkdtempSync(join(tmpdir(), 'gateway-prices-')), 'api.json');
      writeFileSync(file, JSON.stringify({ openai: { models: { 'gpt-4o': { cost: { input: 99 } } } } }));
      const { exitCode, stdout } = await cli.run('catalog', 'diff', file, '--json');
      expect([exitCode, JSON.parse(stdout)]).toMatchObject([
        1,
        { compared: 1, differences: [{ upstream_model: 'gpt-4o', field: 'input', listed: 99_000_000 }] },
      ]);
      const { exitCode: refused, stderr } = await cli.run('catalog', 'diff', `${file}.missing`);
      expect([refused, stderr]).toEqual([1, expect.stringContaining('cannot be compared')]);
    });
  });

  describe('the books', () => {
    it('are verified, and a planted error is listed and ends the command with 1', async () => {
      await expect(cli.json('ledger', 'verify')).resolves.toEqual({ ok: true, violations: [] });

      const { id } = await createOrganization();
      await dataSource.query('UPDATE organization_account SET balance_micro = 5 WHERE organization_id = $1', [id]);
      const asJson = await cli.run('ledger', 'verify', '--json');
      expect(asJson.exitCode).toBe(1);
      expect(JSON.parse(asJson.stdout)).toMatchObject({
        ok: false,
        violations: [{ subject: id, difference_micro: 5 }],
      });
      const asText = await cli.run('ledger', 'verify');
      expect(asText).toMatchObject({ exitCode: 1, stdout: expect.stringContaining(id) });
      await dataSource.query('UPDATE organization_account SET balance_micro = 0 WHERE organization_id = $1', [id]);
    });
  });

  it('gives a restored copy an identity of its own', async () => {
    const before = await readDeploymentId(dataSource);
    const { id } = await cli.json<{ id: string }>('deployment', 'renew');
    expect(id).not.toBe(before);
    expect(await readDeploymentId(dataSource)).toBe(id);
  });

  describe('what goes wrong', () => {
    const id = randomUUID();
    it.each<[number, string, string[]]>([
      [2, '--name', ['org', 'create']],
      [2, '--amount-micro', ['org', 'credit', '--org', id, '--amount-micro', '1.5', '--ref', 'r']],
      [2, '--amount-micro', ['org', 'credit', '--org', id, '--amount-micro', `${2n ** 63n - 1n}`, '--ref', 'r']],
      [2, '--ref', ['org', 'credit', '--org', id, '--amount-micro', '1', '--ref', 'a\nb']],
      [2, '--monthly-limit-micro', ['org', 'limit', '--org', id, '--monthly-limit-micro', `${2n ** 53n}`]],
      [2, '--allowed-ips', ['key', 'create', '--org', id, '--allowed-ips', '10.0.0.0/8,example.com']],
      [2, '--rps', ['key', 'create', '--org', id, '--rps', '0']],
      [2, '--concurrency', ['key', 'limit', '--key', id, '--concurrency', '0']],
      [2, '--daily-budget-micro', ['key', 'limit', '--key', id, '--daily-budget-micro', 'some']],
      [1, 'API key', ['key', 'limit', '--key', id, '--rps', '1']],
      [2, 'frobnicate', ['frobnicate']],
      [1, 'API key', ['key', 'revoke', '--key', id]],
    ])('ends with %d and names %s: %j', async (exitCode, name, commandLine) => {
      const result = await cli.run(...commandLine, '--json');
      expect(result).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(name) });
      expect(result.stderr.trim().split('\n')).toHaveLength(1);
    });

    it('says that the configuration is wrong, and which variable', async () => {
      const misconfigured = createCli({ DATABASE_URL: 'mysql://localhost', REDIS_URL: 'redis://127.0.0.1:1' });
      const result = await misconfigured.run('org', 'list');
      expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('DATABASE_URL') });
      misconfigured.close();
    });

    it('says that PostgreSQL cannot be reached', async () => {
      const alone = createCli({
        DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none',
        REDIS_URL: 'redis://127.0.0.1:1',
      });
      await expect(alone.run('org', 'list')).resolves.toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: expect.stringContaining('127.0.0.1:1'),
      });
      alone.close();
    });

    it('says in one line that PostgreSQL refuses the connection', async () => {
      const refused = createCli(serverSettings(`${database.url}_missing`));
      const { exitCode, stderr } = await refused.run('org', 'list');
      expect({ exitCode, stderr }).toEqual({
        exitCode: 1,
        stderr: expect.stringMatching(/^error: Cannot connect to PostgreSQL: .+_missing" does not exist.+\n$/),
      });
      refused.close();
    });

    it('says that a file cannot be written, and nothing about servers', async () => {
      const file = join(mkdtempSync(join(tmpdir(), 'gateway-cli-')), 'file');
      writeFileSync(file, '');
      const embedded = createCli({ DATA_DIR: file });
      const { exitCode, stderr } = await embedded.run('org', 'list');
      expect({ exitCode, stderr }).toEqual({
        exitCode: 1,
        stderr: expect.stringMatching(/^error: .+services\.json cannot be written: E[A-Z]+: .+DATA_DIR names\.\n$/),
      });
      embedded.close();
    });

    it('makes the change without Redis, and warns that others learn of it late', async () => {
      const { id: organization } = await createOrganization();
      const deaf = createCli({ DATABASE_URL: database.url, REDIS_URL: 'redis://127.0.0.1:1', API_KEY_PEPPER: PEPPER });
      const result = await deaf.run('org', 'suspend', '--org', organization, '--json');
      expect(result).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/^warning: .*5 seconds\.\n$/) });
      expect(JSON.parse(result.stdout)).toMatchObject({ status: 'suspended' });
      deaf.close();
    });
  });

  it('lists the periodic tasks, and the process that runs each', async () => {
    await dataSource.query(`SELECT task_lease_take('money_sweep', 'host:1', 60)`);
    const { leases } = await cli.json<{ leases: object[] }>('leases');
    expect(leases).toHaveLength(4);
    expect(leases).toContainEqual({ task: 'money_sweep', owner: 'host:1', held: true, until: expect.any(String) });
    expect(leases).toContainEqual({ task: 'ledger_audit', owner: null, held: false, until: null });
    const { stdout } = await cli.run('leases');
    expect(stdout).toMatch(/^money_sweep +yes +\S+Z +host:1$/m);
  });

  it('runs as a process, with its exit code, result and messages', async () => {
    const built = createBuiltCli({ ...serverSettings(database.url) });
    const { id } = await built.json<OrganizationRecord>('org', 'create', '--name', 'Built');
    await expect(cli.json('org', 'show', '--org', id)).resolves.toMatchObject({ name: 'Built' });
    const refused = await built.run('org', 'create');
    expect(refused).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('--name') });
    built.close();
  });

  it('ends quietly when the reader of its result closes the pipe, as head does', async () => {
    await expect(runUnread(serverSettings(database.url), 'org', 'list')).resolves.toEqual({ exitCode: 0, stderr: '' });
  });

  it('refuses to work on a database that is not migrated, and migrates it on command', async () => {
    const empty = await createEmptyTestDatabase();
    const fresh = createCli({ ...serverSettings(empty.url), API_KEY_PEPPER: PEPPER });
    await expect(fresh.run('org', 'list')).resolves.toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('npm run gateway -- migrate'),
    });
    const { pending } = await fresh.json<{ pending: string[] }>('migrate', '--plan');
    const { applied } = await fresh.json<{ applied: string[] }>('migrate');
    expect(applied).toEqual(MIGRATIONS.map(({ name }) => name));
    expect(pending).toEqual(applied);
    await expect(fresh.json('migrate', '--plan')).resolves.toEqual({ pending: [] });
    await expect(fresh.json('migrate')).resolves.toEqual({ applied: [] });
    await expect(fresh.json('org', 'list')).resolves.toEqual({ organizations: [] });
    fresh.close();
    await empty.drop();
  });
});

/** Resolves when the message has come; others use the same server. */
async function nextMessage(subscriber: Redis, message: string): Promise<void> {
  for await (const [, said] of on(subscriber, 'message') as AsyncIterable<[string, string]>) {
    if (said === message) return;
  }
}
