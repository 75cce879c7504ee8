import type { DataSource } from 'typeorm';
import { createDataSource } from '../../../src/core/database/data-source';
import { runMigrations } from '../../../src/core/database/run-migrations';
import { importCatalog } from '../../../src/models/catalog-import';
import { CatalogRepository } from '../../../src/models/catalog.repository';
import { catalogEntrySchema } from '../../../src/models/catalog.schema';
import { type LoadedModel, loadCatalog } from '../../../src/models/load-catalog';
import { createEmptyTestDatabase, type TestDatabase } from '../../harness/database';

const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const NOTHING = { added: [], changed: [], disabled: [], prices: 0 };

function makeModel(id: string, input: number, overrides: Record<string, unknown> = {}): LoadedModel {
  const entry = catalogEntrySchema.parse({
    id,
    modality: 'text',
    input_modalities: ['text'],
    output_modalities: ['text'],
    aliases: [`${id}-latest`],
    deployments: [{ provider: 'mock', upstream_model: 'x', quirks: { developerRole: true } }],
    prices: [
      {
        effective_from: '2026-01-01',
        source: 'list',
        checked_at: '2026-01-01',
        tokens: { per_1m_micro: { input, output: 1 } },
      },
    ],
    ...overrides,
  });
  return { entry, source: 'file', file: 'x.yaml' };
}

describe('importCatalog', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let repository: CatalogRepository;

  beforeEach(async () => {
    database = await createEmptyTestDatabase();
    await runMigrations(database.url);
    dataSource = await createDataSource({ url: database.url, poolSize: 4 }).initialize();
    repository = new CatalogRepository(dataSource);
  });

  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const run = (...models: LoadedModel[]) => importCatalog(repository, models, NOW_MS);
  const history = (): Promise<object[]> =>
    dataSource.query(`
      SELECT revision, source, (content #>> '{tokens,per_1m_micro,input}')::int AS input
        FROM price_version ORDER BY effective_from, revision`);

  it('stores the built-in catalogue once across repeated imports', async () => {
    const models = await loadCatalog(null);
    const first = await importCatalog(repository, models, NOW_MS);
    expect(first).toMatchObject({ changed: [], disabled: [] });
    expect(first.added.toSorted()).toEqual(models.map(({ entry }) => entry.id));
    expect(await importCatalog(repository, models, NOW_MS)).toEqual(NOTHING);
  });

  it('imports once when replicas start together', async () => {
    const models = [makeModel('a/a', 1), makeModel('a/b', 2)];
    const summaries = await Promise.all([run(...models), run(...models), run(...models)]);
    const order = summaries.toSorted((a, b) => b.prices - a.prices);
    expect(order).toEqual([{ ...NOTHING, added: ['a/a', 'a/b'], prices: 2 }, NOTHING, NOTHING]);
    expect(await history()).toHaveLength(2);
  });

  it('reads back what it wrote', async () => {
    await run(makeModel('a/a', 1, { retires: '2027-03-04', media: { formats: ['png'] } }));
    const stored = await repository.read();
    expect(stored.models).toEqual([
      expect.objectContaining({
        aliases: ['a/a-latest'],
        retiresOn: '2027-03-04',
        media: { formats: ['png'] },
        enabled: true,
      }),
    ]);
    expect(stored.deployments).toEqual([
      expect.objectContaining({ provider: 'mock', quirks: { developerRole: true } }),
    ]);
    expect(stored.prices).toEqual([
      expect.objectContaining({
        effectiveFrom: new Date('2026-01-01'),
        effectiveTo: null,
        checkedAt: '2026-01-01',
        revision: 1,
      }),
    ]);
  });

  it('keeps the row of a deployment across changes, and the model after its removal', async () => {
    await run(makeModel('a/a', 1));
    const [before] = (await repository.read()).deployments;
    const weighted = { deployments: [{ provider: 'mock', upstream_model: 'x', weight: 9 }] };
    expect(await run(makeModel('a/a', 1, weighted))).toEqual({ ...NOTHING, changed: ['a/a'] });
    expect((await repository.read()).deployments).toEqual([expect.objectContaining({ id: before?.id, weight: 9 })]);
    expect(await run()).toEqual({ ...NOTHING, disabled: ['a/a'] });
    const { models, deployments } = await repository.read();
    expect([...models, ...deployments].map(({ enabled }) => enabled)).toEqual([false, false]);
  });

  it('keeps every past price', async () => {
    await run(makeModel('a/a', 1));
    await run(makeModel('a/a', 2));
    await run(makeModel('a/a', 2, { prices: [] }));
    await run(makeModel('a/a', 1));
    expect(await history()).toEqual([
      { revision: 1, source: 'file', input: 1 },
      { revision: 2, source: 'file', input: 2 },
      { revision: 3, source: 'file', input: null },
      { revision: 4, source: 'file', input: 1 },
    ]);
    expect((await repository.read()).prices).toEqual([expect.objectContaining({ revision: 4 })]);
  });

  it('does not overwrite the price of an administrator', async () => {
    await run(makeModel('a/a', 1));
    await dataSource.query(`
      INSERT INTO price_version (id, model_id, effective_from, revision, content, source)
      SELECT gen_random_uuid(), model_id, effective_from, 2, '{"request":{"per_request_micro":3}}', 'admin' FROM price_version`);
    expect(await run(makeModel('a/a', 5))).toEqual(NOTHING);
    expect((await repository.read()).prices).toEqual([expect.objectContaining({ source: 'admin', revision: 2 })]);
  });

  it('changes nothing when a part of the import is refused', async () => {
    const taken = makeModel('a/b', 1);
    const broken = { ...taken, entry: { ...taken.entry, tokens_per_byte: Number.NaN, context: -1 } };
    await expect(run(makeModel('a/a', 1), broken)).rejects.toThrow('model_limits_check');
    expect((await repository.read()).models).toEqual([]);
  });

  it.each(['UPDATE price_version SET revision = 9', 'DELETE FROM price_version', 'TRUNCATE price_version'])(
    'has a table that refuses: %s',
    async (statement) => {
      await run(makeModel('a/a', 1));
      await expect(dataSource.query(statement)).rejects.toThrow('price_version is append-only');
    },
  );

  it('has an index that refuses a second first revision, with or without deployment', async () => {
    await run(makeModel('a/a', 1));
    const copy = `
      INSERT INTO price_version (id, model_id, effective_from, revision, source)
      SELECT gen_random_uuid(), model_id, effective_from, revision, source FROM price_version`;
    await expect(dataSource.query(copy)).rejects.toThrow('price_version_place_index');
  });
});
