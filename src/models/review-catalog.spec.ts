import { type CatalogEntry, catalogEntrySchema } from './catalog.schema';
import type { LoadedModel } from './load-catalog';
import {
  findRetired,
  findUnknownProviders,
  findWarnings,
  isDeploymentRunnable,
  isModelOfferable,
} from './review-catalog';

const tokens = { per_1m_micro: { input: 1, output: 1 } };
const price = { effective_from: '2026-01-01', source: 'list', checked_at: '2026-01-01', tokens };

function makeEntry(overrides: Record<string, unknown>): CatalogEntry {
  return catalogEntrySchema.parse({
    id: 'a/b',
    modality: 'text',
    input_modalities: ['text'],
    output_modalities: ['text'],
    deployments: [{ provider: 'mock', upstream_model: 'b' }],
    prices: [price],
    ...overrides,
  });
}

const load = (entry: CatalogEntry): LoadedModel => ({ entry, source: 'file', file: 'x.yaml' });

describe('the review of a catalogue', () => {
  it('offers a model that has a price for its modality', () => {
    expect(isModelOfferable(makeEntry({}))).toBe(true);
    expect(findWarnings([load(makeEntry({}))])).toEqual([]);
  });

  it('does not offer a model without a price, and warns', () => {
    const entry = makeEntry({ prices: [] });
    expect(isModelOfferable(entry)).toBe(false);
    expect(findWarnings([load(entry)]).map(({ message }) => message)).toEqual([
      'disabled: no price for the modality text',
      'imported as disabled: no deployment can be offered',
    ]);
  });

  it('ignores the price of another modality', () => {
    expect(isModelOfferable(makeEntry({ modality: 'video' }))).toBe(false);
  });

  it('offers a model whose deployment has the price', () => {
    expect(
      isModelOfferable(
        makeEntry({ prices: [], deployments: [{ provider: 'mock', upstream_model: 'b', prices: [price] }] }),
      ),
    ).toBe(true);
  });

  it('does not run deployments that need unsupported features', () => {
    const entry = makeEntry({
      deployments: [
        { provider: 'openai', upstream_model: 'b' },
        { provider: 'openai', upstream_model: 'b', dialect: 'openai-responses', when: { tools: true } },
        { provider: 'replicate', upstream_model: 'b', dialect: 'replicate' },
      ],
    });
    expect(entry.deployments.map((deployment) => isDeploymentRunnable(entry, deployment))).toEqual([true, true, false]);
    expect(isModelOfferable(entry)).toBe(true);
  });

  it('finds deployments that have retired while their model has not', () => {
    const deployments = [
      { provider: 'mock', upstream_model: 'a', retires: '2026-06-02' },
      { provider: 'mock', upstream_model: 'b', retires: '2026-06-01' },
    ];
    const nowMs = Date.parse('2026-06-01T00:00:00Z');
    const [current, retired] = [makeEntry({ deployments }), makeEntry({ deployments, retires: '2026-05-01' })];
    expect(findRetired([load(current), load(retired)], nowMs)).toEqual([
      { file: 'x.yaml', model: 'a/b', path: 'deployments[1].retires', message: 'retired on 2026-06-01' },
    ]);
  });

  it('finds unknown providers', () => {
    const problems = findUnknownProviders([load(makeEntry({}))], new Set(['openai']));
    expect(problems).toEqual([
      { file: 'x.yaml', model: 'a/b', path: 'deployments[0].provider', message: 'unknown provider mock' },
    ]);
    expect(findUnknownProviders([load(makeEntry({}))], new Set(['mock']))).toEqual([]);
  });
});
