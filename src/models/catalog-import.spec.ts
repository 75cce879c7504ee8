import type { DeploymentRow, ModelRow, PriceRow, PriceVersionRow, StoredCatalog } from './catalog-rows';
import { type ImportPlan, planImport } from './catalog-import';

const EMPTY: StoredCatalog = { models: [], deployments: [], prices: [] };

function makeModel(overrides: Partial<ModelRow> = {}): ModelRow {
  return {
    id: 'a/b',
    displayName: 'b',
    modality: 'text',
    inputModalities: ['text'],
    outputModalities: ['text'],
    status: 'active',
    releasedOn: null,
    retiresOn: null,
    aliases: [],
    contextLength: null,
    maxOutputTokens: null,
    features: {},
    tokensPerByte: 0.25,
    media: null,
    limits: null,
    source: 'builtin',
    enabled: true,
    ...overrides,
  };
}

function makeDeployment(overrides: Partial<DeploymentRow> = {}): DeploymentRow {
  return {
    id: 'deployment-1',
    modelId: 'a/b',
    provider: 'mock',
    upstreamModel: 'b',
    dialect: null,
    priority: 0,
    weight: 1,
    quirks: {},
    settings: {},
    source: 'builtin',
    enabled: true,
    ...overrides,
  };
}

function makePrice(input: number, overrides: Partial<PriceRow> = {}): PriceRow {
  return {
    modelId: 'a/b',
    deploymentId: null,
    effectiveFrom: new Date('2026-01-01'),
    effectiveTo: null,
    content: { tokens: { per_1m_micro: { input, output: 1 } } },
    source: 'builtin',
    reference: 'list',
    checkedAt: '2026-01-01',
    ...overrides,
  };
}

function makeVersion(input: number, overrides: Partial<PriceVersionRow> = {}): PriceVersionRow {
  return { ...makePrice(input), id: 'version-1', revision: 1, ...overrides };
}

function makeStored(overrides: Partial<StoredCatalog> = {}): StoredCatalog {
  const createdAt = new Date('2026-01-01');
  return {
    models: [{ ...makeModel(), createdAt }],
    deployments: [makeDeployment()],
    prices: [makeVersion(5)],
    ...overrides,
  };
}

const files = { models: [makeModel()], deployments: [makeDeployment()], prices: [makePrice(5)] };
const amounts = (plan: ImportPlan): (number | null)[] =>
  plan.prices.map(({ content }) => content?.tokens?.per_1m_micro.input ?? null);

describe('planImport', () => {
  it('adds everything to an empty database', () => {
    const plan = planImport(EMPTY, files);
    expect(plan).toMatchObject({ models: files.models, deployments: files.deployments });
    expect(plan.prices).toEqual([{ ...makePrice(5), revision: 1 }]);
    expect(plan.summary).toEqual({ added: ['a/b'], changed: [], disabled: [], prices: 1 });
  });

  it('writes nothing when the database matches', () => {
    const plan = planImport(makeStored(), files);
    expect(plan).toMatchObject({ models: [], deployments: [], prices: [] });
    expect(plan.summary).toEqual({ added: [], changed: [], disabled: [], prices: 0 });
  });

  it('overwrites rows that differ', () => {
    const deployments = [makeDeployment({ priority: 3 })];
    const plan = planImport(makeStored(), { ...files, deployments });
    expect(plan).toMatchObject({ models: [], deployments, summary: { changed: ['a/b'] } });
  });

  it('disables models and deployments removed from the files', () => {
    const plan = planImport(makeStored(), { models: [], deployments: [], prices: [] });
    expect(plan.models).toEqual([makeModel({ enabled: false })]);
    expect(plan.deployments).toEqual([makeDeployment({ enabled: false })]);
    expect(plan.prices).toEqual([]);
    expect(plan.summary).toEqual({ added: [], changed: [], disabled: ['a/b'], prices: 0 });
  });

  it('does not report a disabled model again', () => {
    const createdAt = new Date();
    const stored = makeStored({
      models: [{ ...makeModel({ enabled: false }), createdAt }],
      deployments: [makeDeployment({ enabled: false })],
    });
    expect(planImport(stored, { models: [], deployments: [], prices: [] }).summary.disabled).toEqual([]);
  });

  it('does not change a model of an administrator, its deployments or its prices', () => {
    const createdAt = new Date();
    const stored = makeStored({ models: [{ ...makeModel({ source: 'admin', enabled: false }), createdAt }] });
    const plan = planImport(stored, { ...files, prices: [makePrice(9)] });
    expect(plan).toMatchObject({ models: [], deployments: [], prices: [] });
    expect(planImport(stored, { models: [], deployments: [], prices: [] }).deployments).toEqual([]);
  });

  it('does not change a deployment of an administrator', () => {
    const stored = makeStored({ deployments: [makeDeployment({ source: 'admin', weight: 7 })] });
    expect(planImport(stored, files).deployments).toEqual([]);
    expect(planImport(stored, { ...files, deployments: [] }).deployments).toEqual([]);
  });

  it('appends a revision when a price is corrected', () => {
    const plan = planImport(makeStored(), { ...files, prices: [makePrice(6)] });
    expect(plan.prices).toEqual([{ ...makePrice(6), revision: 2 }]);
  });

  it('appends a revision when a price gets an end', () => {
    const prices = [makePrice(5, { effectiveTo: new Date('2026-02-01') })];
    expect(planImport(makeStored(), { ...files, prices }).prices).toEqual([{ ...prices[0], revision: 2 }]);
  });

  it('does not treat a new checked_at as a new price', () => {
    expect(planImport(makeStored(), { ...files, prices: [makePrice(5, { checkedAt: '2026-03-01' })] }).prices).toEqual(
      [],
    );
  });

  it('never overwrites the price of an administrator', () => {
    const stored = makeStored({ prices: [makeVersion(7, { source: 'admin', revision: 4 })] });
    expect(planImport(stored, files).prices).toEqual([]);
    expect(planImport(stored, { ...files, prices: [] }).prices).toEqual([]);
  });

  it('adds a price from the files after an administrator withdrew one', () => {
    const stored = makeStored({ prices: [makeVersion(7, { source: 'admin', content: null, revision: 2 })] });
    expect(planImport(stored, files).prices).toEqual([{ ...makePrice(5), revision: 3 }]);
    expect(planImport(stored, { ...files, prices: [] }).prices).toEqual([]);
  });

  it('withdraws a price removed from the files, and restores it', () => {
    const later = makePrice(8, { effectiveFrom: new Date('2026-06-01') });
    const withdrawn = planImport(makeStored(), { ...files, prices: [later] });
    expect(amounts(withdrawn)).toEqual([8, null]);
    expect(withdrawn.prices[1]).toMatchObject({ revision: 2, effectiveFrom: new Date('2026-01-01') });
    expect(withdrawn.prices[1]).not.toHaveProperty('id');

    const stored = makeStored({ prices: [makeVersion(5, { content: null, revision: 2 })] });
    expect(planImport(stored, { ...files, prices: [] }).prices).toEqual([]);
    expect(planImport(stored, files).prices).toEqual([{ ...makePrice(5), revision: 3 }]);
  });
});
