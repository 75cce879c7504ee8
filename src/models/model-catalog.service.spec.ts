import { Logger } from '@nestjs/common';
import type { Clock } from '../core/time/clock';
import type { StoredCatalog } from './catalog-rows';
import { toCatalogRows } from './catalog-rows';
import { catalogEntrySchema } from './catalog.schema';
import { ModelCatalogService } from './model-catalog.service';

const tokens = (input: number): object => ({ tokens: { per_1m_micro: { input, output: 1 } } });
const price = (effective_from: string, input: number): object => ({
  effective_from,
  source: 'list',
  checked_at: '2026-01-01',
  ...tokens(input),
});

function store(id: string, overrides: Record<string, unknown> = {}): StoredCatalog {
  const entry = catalogEntrySchema.parse({
    id,
    modality: 'text',
    input_modalities: ['text'],
    output_modalities: ['text'],
    deployments: [{ provider: 'mock', upstream_model: 'b' }],
    prices: [price('2026-01-01', 5), price('2026-07-01', 6)],
    ...overrides,
  });
  const { models, deployments, prices } = toCatalogRows([{ entry, source: 'file', file: 'x.yaml' }]);
  return {
    models: models.map((row) => ({ ...row, createdAt: new Date(0) })),
    deployments,
    prices: prices.map((row, at) => ({ ...row, id: `price-${at}`, revision: 1 })),
  };
}

function setUp(first: StoredCatalog, now = '2026-06-30T23:59:59.999Z') {
  const time = { nowMs: Date.parse(now) };
  const clock: Clock = { now: () => time.nowMs, monotonic: () => time.nowMs };
  const read = jest.fn<Promise<StoredCatalog>, []>(() => Promise.resolve(first));
  const catalog = new ModelCatalogService({ read }, { configuredIds: new Set(['mock']) }, clock);
  return { catalog, read, time };
}

describe('ModelCatalogService', () => {
  it('returns a model by id and refuses an unknown id', async () => {
    const { catalog } = setUp(store('a/b'));
    await catalog.start();
    expect(catalog.require('a/b').id).toBe('a/b');
    expect(catalog.list()).toEqual([catalog.require('a/b')]);
    expect(() => catalog.require('a/c')).toThrow(expect.objectContaining({ code: 'model_not_found', param: 'model' }));
    expect(() => catalog.require('constructor')).toThrow(expect.objectContaining({ code: 'model_not_found' }));
  });

  it('does not start without a catalogue', async () => {
    const { catalog, read } = setUp(store('a/b'));
    read.mockRejectedValueOnce(new Error('unavailable'));
    await expect(catalog.start()).rejects.toThrow('unavailable');
  });

  it('keeps serving the last snapshot during a database outage', async () => {
    const { catalog, read } = setUp(store('a/b'));
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    await catalog.refresh();
    read.mockRejectedValueOnce(new Error('unavailable'));
    await catalog.refresh();
    expect(catalog.list().map(({ id }) => id)).toEqual(['a/b']);
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });

  it('keeps the same objects when nothing changed', async () => {
    const { catalog, read } = setUp(store('a/b'));
    await catalog.refresh();
    const before = catalog.list();
    read.mockImplementation(() => Promise.resolve(store('a/b')));
    await catalog.refresh();
    expect(catalog.list()).toBe(before);
    read.mockImplementation(() => Promise.resolve(store('a/c')));
    await catalog.refresh();
    expect(catalog.list().map(({ id }) => id)).toEqual(['a/c']);
  });

  it('reads again for a change that was announced during a refresh', async () => {
    const { catalog, read } = setUp(store('a/b'));
    const first = catalog.refresh();
    read.mockImplementation(() => Promise.resolve(store('a/c')));
    await Promise.all([first, catalog.refresh(), catalog.refresh()]);
    expect(catalog.list().map(({ id }) => id)).toEqual(['a/c']);
    expect(read).toHaveBeenCalledTimes(2);
  });

  it('changes the price at the moment it becomes effective', async () => {
    const { catalog, time } = setUp(store('a/b'));
    await catalog.refresh();
    const model = catalog.require('a/b');
    const [deployment] = model.deployments;
    if (deployment === undefined) throw new Error('the model has a deployment');
    const inputAt = (nowMs: number): number | undefined =>
      catalog.currentPrice(model, deployment, nowMs)?.price.tokens?.per_1m_micro.input;
    expect(inputAt(time.nowMs)).toBe(5);
    expect(inputAt(time.nowMs + 1)).toBe(6);
    expect(inputAt(time.nowMs)).toBe(5);
    expect(inputAt(0)).toBeUndefined();
  });

  it("prefers the deployment's own price, once it has begun", async () => {
    const own = { provider: 'mock', upstream_model: 'b', prices: [price('2026-06-01', 9)] };
    const { catalog, time } = setUp(store('a/b', { deployments: [own] }));
    await catalog.refresh();
    const model = catalog.require('a/b');
    const [deployment] = model.deployments;
    if (deployment === undefined) throw new Error('the model has a deployment');
    expect(catalog.currentPrice(model, deployment, time.nowMs)?.price).toEqual(tokens(9));
    expect(catalog.currentPrice(model, deployment, Date.parse('2026-05-31'))?.price).toEqual(tokens(5));
  });
});
