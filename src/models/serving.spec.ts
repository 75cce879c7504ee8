import { type StoredCatalog, toCatalogRows } from './catalog-rows';
import { catalogEntrySchema } from './catalog.schema';
import { buildSnapshot, reviewServing } from './serving';

const NOW_MS = Date.parse('2026-06-01T12:00:00Z');
const configured = new Set(['mock', 'openai']);
const price = {
  effective_from: '2026-01-01',
  source: 'list',
  checked_at: '2026-01-01',
  tokens: { per_1m_micro: { input: 1, output: 2 } },
};

function store(...entries: Record<string, unknown>[]): StoredCatalog {
  const rows = toCatalogRows(
    entries.map((overrides) => ({
      file: 'x.yaml',
      source: 'file',
      entry: catalogEntrySchema.parse({
        id: 'a/b',
        modality: 'text',
        input_modalities: ['text'],
        output_modalities: ['text'],
        deployments: [{ provider: 'mock', upstream_model: 'b' }],
        prices: [price],
        ...overrides,
      }),
    })),
  );
  return {
    models: rows.models.map((row) => ({ ...row, createdAt: new Date('2026-05-05T00:00:00Z') })),
    deployments: rows.deployments,
    prices: rows.prices.map((row, at) => ({ ...row, id: `price-${at}`, revision: 1 })),
  };
}

const idsOf = (stored: StoredCatalog): string[] => buildSnapshot(stored, configured, NOW_MS).models.map(({ id }) => id);

describe('buildSnapshot', () => {
  it('includes a model with its deployments and prices', () => {
    const { models } = buildSnapshot(store({ released: '2026-02-01', context: 100 }), configured, NOW_MS);
    expect(models).toEqual([
      expect.objectContaining({
        id: 'a/b',
        displayName: 'b',
        createdAt: Date.parse('2026-02-01') / 1000,
        contextLength: 100,
        maxOutputTokens: null,
        prices: [
          {
            id: 'price-0',
            effectiveFromMs: Date.parse('2026-01-01'),
            effectiveToMs: null,
            byOperator: false,
            price: { tokens: price.tokens },
          },
        ],
        deployments: [expect.objectContaining({ provider: 'mock', upstreamModel: 'b', prices: [] })],
      }),
    ]);
  });

  it('finds a model by its alias', () => {
    const { byName, models } = buildSnapshot(store({ aliases: ['a/latest'] }), configured, NOW_MS);
    expect(byName.get('a/latest')).toBe(models[0]);
  });

  it.each([
    ['has no price', { prices: [] }],
    ['has a price that has not begun', { prices: [{ ...price, effective_from: '2026-06-02' }] }],
    ['has a price that has ended', { prices: [{ ...price, effective_to: '2026-05-31' }] }],
    ['retires today', { retires: '2026-06-01' }],
    ['is disabled', { status: 'disabled' }],
    [
      'has only deployments that have retired',
      {
        deployments: [
          { provider: 'mock', upstream_model: 'b', retires: '2026-06-01' },
          { provider: 'openai', upstream_model: 'b', retires: '2026-05-01' },
        ],
      },
    ],
    ['has only deployments without credentials', { deployments: [{ provider: 'fal', upstream_model: 'b' }] }],
  ])('hides a model that %s', (_name, overrides) => {
    expect(idsOf(store(overrides))).toEqual([]);
  });

  it('includes a deprecated model until it retires', () => {
    expect(idsOf(store({ status: 'deprecated', retires: '2026-06-02' }))).toEqual(['a/b']);
  });

  it('omits deployments that cannot be called', () => {
    const deployments = [
      { provider: 'fal', upstream_model: 'b' },
      { provider: 'openai', upstream_model: 'b' },
    ];
    const [model] = buildSnapshot(store({ deployments }), configured, NOW_MS).models;
    expect(model?.deployments.map(({ provider }) => provider)).toEqual(['openai']);
  });

  it('omits a deployment from its retirement day on', () => {
    const stored = store({
      deployments: [
        { provider: 'mock', upstream_model: 'b', retires: '2026-06-02' },
        { provider: 'openai', upstream_model: 'b' },
      ],
    });
    const providersAt = (time: string): (string | undefined)[] =>
      buildSnapshot(stored, configured, Date.parse(time)).models.flatMap(({ deployments }) =>
        deployments.map(({ provider }) => provider),
      );
    expect(providersAt('2026-06-01T23:59:59.999Z')).toEqual(['mock', 'openai']);
    expect(providersAt('2026-06-02T00:00:00Z')).toEqual(['openai']);
  });

  it.each([
    ['the model', { retires: '2026-06-01' }],
    ['all deployments', { deployments: [{ provider: 'mock', upstream_model: 'b', retires: '2026-06-01' }] }],
    [
      'both',
      { retires: '2026-06-01', deployments: [{ provider: 'mock', upstream_model: 'b', retires: '2026-06-01' }] },
    ],
  ])('says that a model is retired after the retirement of %s', (_name, overrides) => {
    expect(reviewServing(store(overrides), configured, NOW_MS)[0]?.obstacles).toEqual(['retired']);
  });

  it('calls a deployment with its version of the upstream’s API', () => {
    const deployments = [
      { provider: 'mock', upstream_model: 'b', api_version: '2026-10-21', quirks: { streamUsage: 'none' } },
    ];
    const [model] = buildSnapshot(store({ deployments }), configured, NOW_MS).models;
    expect(model?.deployments[0]?.quirks).toEqual({ apiVersion: '2026-10-21', streamUsage: 'none' });
  });

  it('ignores a withdrawn price', () => {
    const stored = store({});
    expect(idsOf({ ...stored, prices: stored.prices.map((row) => ({ ...row, content: null })) })).toEqual([]);
  });
});
