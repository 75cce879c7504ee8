import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataSource } from 'typeorm';
import { readDeploymentId } from '../../../src/core/redis/deployment-identity';
import { importCatalog } from '../../../src/models/catalog-import';
import { CatalogRepository } from '../../../src/models/catalog.repository';
import { catalogEntrySchema } from '../../../src/models/catalog.schema';
import { openDataSource } from '../../harness/data-source';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { serverSettings } from '../../harness/servers';
import { type Cli, createCli } from '../cli/run-cli';

const FIRST_KEY = 'ab'.repeat(32);
const SECOND_KEY = 'cd'.repeat(32);
const MODEL = 'local/chat';

describe('the commands of operators', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let directory: string;
  let cli: Cli;

  const cliWith = (secretsKey: string): Cli =>
    createCli({
      ...serverSettings(database.url),
      API_KEY_PEPPER: 'p'.repeat(32),
      SECRETS_KEY: secretsKey,
    });

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'gateway-operator-'));
    database = await createTestDatabase();
    dataSource = await openDataSource(database.url, 2);
    cli = cliWith(FIRST_KEY);
    const entry = catalogEntrySchema.parse({
      id: MODEL,
      modality: 'text',
      input_modalities: ['text'],
      output_modalities: ['text'],
      deployments: [{ provider: 'mock', upstream_model: 'chat' }],
    });
    await importCatalog(new CatalogRepository(dataSource), [{ entry, source: 'file', file: 'x' }], Date.now());
  });
  afterAll(async () => {
    cli.close();
    await dataSource.destroy();
    await database.drop();
    rmSync(directory, { recursive: true, force: true });
  });

  const actions = async (): Promise<string[]> => {
    const rows = await dataSource.query<{ action: string }[]>(
      `SELECT action FROM audit_entry WHERE actor_kind = 'command' ORDER BY id`,
    );
    return rows.map(({ action }) => action);
  };

  it('price, enable and weigh a model that the files leave unpriced, and withdraw a mistake', async () => {
    const refused = await cli.run('model', 'enable', '--model', MODEL);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no price in force') });
    const file = join(directory, 'price.yaml');
    writeFileSync(file, 'tokens: { per_1m_micro: { input: 1, output: 2 } }\n');
    const add = ['price', 'add', '--model', MODEL, '--file', file, '--ref', 'our list'];
    await expect(cli.json(...add)).resolves.toMatchObject({ model: MODEL, revision: 1 });
    const past = await cli.run(...add, '--from', '2026-01-01');
    expect(past).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^error: option '--from': /) });
    const { id: mistake } = await cli.json<{ id: string }>(...add, '--from', '2199-01-01');
    const withdraw = ['price', 'withdraw', '--model', MODEL, '--price', mistake];
    await expect(cli.json(...withdraw)).resolves.toMatchObject({ model: MODEL, revision: 2, price: null });
    await expect(cli.run(...withdraw)).resolves.toMatchObject({ exitCode: 1 });
    await expect(cli.json('model', 'enable', '--model', MODEL)).resolves.toMatchObject({
      enabled: true,
      not_served_because: [],
    });
    const { deployments } = await cli.json<{ deployments: { id: string }[] }>('deployment', 'list', '--model', MODEL);
    const set = ['deployment', 'set', '--deployment', deployments[0]?.id ?? ''];
    await expect(cli.json(...set, '--weight', '7', '--enabled', 'no')).resolves.toMatchObject({
      weight: 7,
      enabled: false,
      priority: 0,
    });
    expect(await actions()).toEqual([
      'price.created',
      'price.created',
      'price.withdrawn',
      'model.updated',
      'deployment.updated',
    ]);
  });

  it('name the option or the input that is wrong, in one line', async () => {
    const file = join(directory, 'wrong.yaml');
    const add = ['price', 'add', '--model', MODEL, '--file', file, '--ref', 'x'];
    writeFileSync(file, 'tokens: { per_1m_micro: { input: -1, output: 2 } }\n');
    const negative = await cli.run(...add);
    expect(negative).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^error: option '--file': .*\n$/) });
    writeFileSync(file, 'tokens: { per_1m_micro: { input: 1, output: 2 } }\n');
    const ended = await cli.run(...add, '--from', '2199-01-02', '--to', '2199-01-01');
    expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^error: option '--to': .*\n$/) });
    writeFileSync(file, 'tokens: {\n\nprice list\n');
    const unreadable = await cli.run(...add);
    expect(unreadable).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^error: Cannot read .*\n$/) });
    const user = ['user', 'create', '--email', 'a@example.com', '--name', 'A', '--password-stdin'];
    const weak = await cli.runWith('short', ...user);
    expect(weak).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^error: standard input: .*\n$/) });
  });

  it('end a price in force, now or later', async () => {
    const file = join(directory, 'ending.yaml');
    writeFileSync(file, 'tokens: { per_1m_micro: { input: 3, output: 4 } }\n');
    const { id: price } = await cli.json<{ id: string }>(
      'price',
      'add',
      '--model',
      MODEL,
      '--file',
      file,
      '--ref',
      'x',
    );
    const end = ['price', 'end', '--model', MODEL, '--ref', 'the contract ended', '--price'];
    const later = await cli.json<{ id: string }>(...end, price, '--effective-to', '2199-01-01T00:00:00Z');
    expect(later).toMatchObject({ model: MODEL, effective_to: '2199-01-01T00:00:00.000Z' });
    const past = await cli.run(...end, later.id, '--effective-to', '2026-01-01');
    expect(past).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--effective-to') });
    const ended = await cli.json<{ effective_to: string }>(...end, later.id);
    expect(Date.parse(ended.effective_to)).toBeLessThanOrEqual(Date.now());
    // The first revision is no longer the last one.
    await expect(cli.run(...end, price)).resolves.toMatchObject({ exitCode: 1 });
    expect((await actions()).slice(-3)).toEqual(['price.created', 'price.ended', 'price.ended']);
  });

  it('correct a balance once per reference', async () => {
    const { id } = await cli.json<{ id: string }>('org', 'create', '--name', 'Adjusted');
    const credit = ['org', 'credit', '--org', id, '--ref', 'invoice', '--amount-micro', '7'];
    await expect(cli.json(...credit)).resolves.toMatchObject({ applied: true, balance_micro: 7 });
    await expect(cli.json(...credit)).resolves.toMatchObject({ applied: false, balance_micro: 7 });
    const adjust = ['org', 'adjust', '--org', id, '--ref', 'ticket', '--reason', 'goodwill', '--amount-micro', '5'];
    await expect(cli.json(...adjust)).resolves.toMatchObject({ applied: true, balance_micro: 12 });
    await expect(cli.json(...adjust)).resolves.toMatchObject({ applied: false, balance_micro: 12 });
    const taken = await cli.run('org', 'adjust', '--org', id, '--ref', 'x', '--reason', 'r', '--amount-micro', '-13');
    expect(taken).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('available balance') });
  });

  it('store credentials from standard input, show no value, and encrypt everything under another key', async () => {
    const secret = `sk-${randomUUID()}`;
    const stored = await cli.runWith(`${secret}\n`, 'credential', 'set', '--name', 'OPENAI_API_KEY');
    expect(stored).toMatchObject({ exitCode: 0, stderr: '' });
    const empty = await cli.runWith('', 'credential', 'set', '--name', 'OPENAI_API_KEY');
    expect(empty).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(/^error: standard input: /) });
    const unknown = await cli.runWith('x', 'credential', 'set', '--name', 'HOME');
    expect(unknown).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/'--name': No provider has a setting/),
    });
    const listed = await cli.run('credential', 'list');
    expect(listed.stdout).toContain(secret.slice(-4));
    expect([stored, unknown, listed].map((each) => JSON.stringify(each)).join()).not.toContain(secret);

    const both = cliWith(`${SECOND_KEY},${FIRST_KEY}`);
    const second = cliWith(SECOND_KEY);
    try {
      await expect(second.run('secrets', 'reseal', '--json')).resolves.toMatchObject({
        exitCode: 1,
        stdout: expect.stringContaining('"unreadable":["OPENAI_API_KEY"]'),
      });
      await expect(both.json('secrets', 'reseal')).resolves.toMatchObject({
        provider_credentials: { resealed: 1, current: 0, unreadable: [] },
      });
      const { credentials } = await second.json<{ credentials: object[] }>('credential', 'list');
      expect(credentials).toContainEqual(
        expect.objectContaining({ name: 'OPENAI_API_KEY', stored: expect.objectContaining({ readable: true }) }),
      );
    } finally {
      both.close();
      second.close();
    }
    expect(await actions()).toEqual(
      expect.arrayContaining(['credential.set', 'secrets.resealed', 'balance.adjusted', 'balance.credited']),
    );
  });

  it('renew the deployment and accept another pepper, with entries in the audit log', async () => {
    const before = await readDeploymentId(dataSource);
    const { id } = await cli.json<{ id: string }>('deployment', 'renew');
    await cli.json('deployment', 'accept-pepper');
    expect(
      await dataSource.query(
        `SELECT action, target_type, target_id, before, after FROM audit_entry WHERE target_type = 'gateway' ORDER BY id`,
      ),
    ).toEqual([
      { action: 'identity.renewed', target_type: 'gateway', target_id: id, before: { id: before }, after: { id } },
      { action: 'pepper.accepted', target_type: 'gateway', target_id: id, before: null, after: null },
    ]);
  });
});
