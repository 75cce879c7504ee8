import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Test } from '@nestjs/testing';
import type { AppConfig } from '../../../src/core/config/app-config';
import { ConfigModule } from '../../../src/core/config/config.module';
import { ProvidersModule } from '../../../src/providers/providers.module';
import { ProvidersService } from '../../../src/providers/providers.service';
import { CatalogError, loadCatalog } from '../../../src/models/load-catalog';
import { findUnknownProviders, findWarnings } from '../../../src/models/review-catalog';

const model = (id: string, more = ''): string => `
- id: ${id}
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  deployments: [{ provider: mock, upstream_model: x }]
  prices: [{ effective_from: 2026-01-01, source: list, checked_at: 2026-01-01, tokens: { per_1m_micro: { input: 1, output: 1 } } }]
${more}`;

describe('loadCatalog', () => {
  const directories: string[] = [];

  async function makeDirectory(files: Record<string, string>): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'catalogue-'));
    directories.push(directory);
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
    return directory;
  }

  async function problemsOf(own: Record<string, string>, builtin: Record<string, string> = {}): Promise<string[]> {
    const loading = loadCatalog(await makeDirectory(own), await makeDirectory(builtin));
    const error = await loading.then(
      () => null,
      (reason: unknown) => reason,
    );
    if (!(error instanceof CatalogError)) throw new Error('the catalogue was accepted');
    return error.problems.map(({ file, model: id, path, message }) =>
      [file.split('/').pop(), id, path, message].join('|'),
    );
  }

  afterAll(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true }))));

  it('has a valid built-in catalogue without warnings', async () => {
    const models = await loadCatalog(null);
    expect(findWarnings(models)).toEqual([]);
    const ids = models.map(({ entry }) => entry.id);
    const modalities = ['chat', 'embed', 'image', 'speech', 'transcribe', 'video', 'music'];
    expect(ids).toEqual(expect.arrayContaining(modalities.map((name) => `mock/${name}-1`)));
    expect(ids).toContain('openai/gpt-6-luna');
    expect(ids).toEqual(ids.toSorted());
  });

  it('has at least 150 built-in models, all of providers of this build', async () => {
    const models = (await loadCatalog(null)).filter(({ entry }) => !entry.id.startsWith('mock/'));
    expect(models.length).toBeGreaterThanOrEqual(150);
    const config = ConfigModule.forRoot({ providers: {}, providerInstances: [] } as unknown as AppConfig);
    const module = await Test.createTestingModule({ imports: [config, ProvidersModule] }).compile();
    await module.init();
    const known = new Set(
      module
        .get(ProvidersService)
        .describe()
        .map(({ id }) => id),
    );
    expect(findUnknownProviders(models, known)).toEqual([]);
    await module.close();
  });

  it('sends chats of Mistral in the order and with the ids that they require, also through other hosts', async () => {
    const models = (await loadCatalog(null)).filter(({ entry }) => entry.id.startsWith('mistral/'));
    const hosted = models
      .filter(({ entry }) => entry.modality === 'text')
      .flatMap(({ entry }) => entry.deployments.filter(({ provider }) => provider !== 'mistral'));
    expect(hosted.length).toBeGreaterThan(0);
    for (const { quirks } of hosted) expect(quirks).toMatchObject({ strictRoles: true, shortToolCallIds: true });
  });

  it('charges a long context at OpenAI from the first token above 272,000 on', async () => {
    const models = (await loadCatalog(null)).filter(({ entry }) => entry.id.startsWith('openai/gpt-'));
    const prices = models.flatMap(({ entry }) => [entry, ...entry.deployments].flatMap((row) => row.prices ?? []));
    const starts = prices.flatMap(({ tokens }) => tokens?.tiers?.map((tier) => tier.above_input_tokens) ?? []);
    expect(new Set(starts)).toEqual(new Set([272_000]));
  });

  it('serves chats or embeddings of every text vendor that publishes prices', async () => {
    const models = (await loadCatalog(null)).filter(({ entry }) => ['text', 'embedding'].includes(entry.modality));
    const served = new Set(models.flatMap(({ entry }) => entry.deployments.map(({ provider }) => provider)));
    // prettier-ignore
    const vendors = [
      'anthropic', 'bedrock', 'bedrock-anthropic', 'cerebras', 'cohere', 'deepinfra', 'deepseek', 'fireworks', 'google',
      'groq', 'huggingface', 'jina', 'minimax', 'mistral', 'moonshot', 'openai', 'openrouter', 'perplexity', 'qwen',
      'sambanova', 'together', 'vertex', 'voyage', 'xai', 'zai',
    ];
    expect(vendors.filter((vendor) => !served.has(vendor))).toEqual([]);
  });

  it('says of every deprecated text model when it retires', async () => {
    const deprecated = (await loadCatalog(null)).filter(
      ({ entry }) => entry.status === 'deprecated' && ['text', 'embedding'].includes(entry.modality),
    );
    expect(deprecated.length).toBeGreaterThan(0);
    expect(deprecated.filter(({ entry }) => entry.retires === undefined).map(({ entry }) => entry.id)).toEqual([]);
  });

  it('sets a longer first-token timeout for built-in reasoning models', async () => {
    const reasoning = (await loadCatalog(null)).filter(
      ({ entry: { id, features } }) => !id.startsWith('mock/') && (features.reasoning ?? []).length > 0,
    );
    expect(reasoning.length).toBeGreaterThan(0);
    for (const { timeouts } of reasoning.flatMap(({ entry }) => entry.deployments)) {
      expect(timeouts?.first_token_ms).toBeGreaterThan(30_000);
      expect(timeouts?.idle_ms).toBeGreaterThan(60_000);
    }
  });

  it('reads only YAML and JSON files with lists or objects', async () => {
    const directory = await makeDirectory({
      'a.yaml': model('a/a'),
      'b.yml': `models:${model('b/b').replaceAll('\n', '\n  ')}`,
      'c.json': JSON.stringify({
        models: [
          {
            id: 'c/c',
            modality: 'text',
            input_modalities: ['text'],
            output_modalities: ['text'],
            deployments: [{ provider: 'mock', upstream_model: 'c' }],
          },
        ],
      }),
      'empty.yaml': '# nothing yet\n',
      'notes.txt': 'not a catalogue',
    });
    const models = await loadCatalog(directory, await makeDirectory({}));
    expect(models.map(({ entry, source }) => [entry.id, source])).toEqual([
      ['a/a', 'file'],
      ['b/b', 'file'],
      ['c/c', 'file'],
    ]);
  });

  it("replaces a built-in model completely with the operator's", async () => {
    const own = await makeDirectory({ 'own.yaml': model('a/a') });
    const builtin = await makeDirectory({ 'vendor.yaml': model('a/a', '  context: 5\n') + model('a/b') });
    const models = await loadCatalog(own, builtin);
    expect(models.map(({ entry, source }) => [entry.id, source, entry.context])).toEqual([
      ['a/a', 'file', undefined],
      ['a/b', 'builtin', undefined],
    ]);
  });

  it('refuses the same model twice in one source', async () => {
    const [problem] = await problemsOf({ '1.yaml': model('a/a'), '2.yaml': model('a/a') });
    expect(problem).toMatch(/^2\.yaml\|a\/a\|id\|already defined in .*1\.yaml$/);
  });

  it('reports every problem with file, model and path', async () => {
    const problems = await problemsOf({
      '1.yaml': model('a/a', '  features: { toolz: true }\n') + model('a/b', '  context: 1.5\n'),
      '2.yaml': 'models: 5',
      '3.yaml': 'a: [',
      '4.yaml': '- just text',
    });
    expect(problems).toEqual([
      '1.yaml|a/a|features.toolz|unknown key',
      expect.stringMatching(/^1\.yaml\|a\/b\|context\|/),
      expect.stringMatching(/^2\.yaml\|\|\|expected a list of models/),
      expect.stringMatching(/^3\.yaml\|\|\|.+\(1:5\)$/),
      expect.stringMatching(/^4\.yaml\|model 1\|\|/),
    ]);
  });

  it('refuses a duplicate key', async () => {
    const [problem] = await problemsOf({ '1.yaml': model('a/a', '  context: 1\n  context: 2\n') });
    expect(problem).toMatch(/^1\.yaml\|\|\|duplicated mapping key \(9:3\)$/);
  });

  it('refuses an alias that is already taken', async () => {
    const aliased = model('a/a', '  aliases: [a/b]\n') + model('a/b') + model('a/c', '  aliases: [a/x]\n');
    const problems = await problemsOf({ '1.yaml': aliased + model('a/d', '  aliases: [a/x]\n') });
    expect(problems).toEqual([
      '1.yaml|a/a|aliases[0]|a/b is already taken',
      '1.yaml|a/d|aliases[0]|a/x is already taken',
    ]);
  });

  it('refuses a folder that does not exist', async () => {
    await expect(loadCatalog('/nonexistent/catalogue')).rejects.toThrow('/nonexistent/catalogue: cannot be read');
  });
});
