import { loadCatalog } from './load-catalog';
import type { CatalogEntry } from './catalog.schema';

/** The mock's models serve tests. */
const isReal = ({ id }: CatalogEntry): boolean => !id.startsWith('mock/');

describe('the media models of the built-in catalogue', () => {
  let entries: readonly CatalogEntry[];
  beforeAll(async () => {
    entries = (await loadCatalog(null)).map(({ entry }) => entry).filter(isReal);
  });
  const of = (...modalities: readonly string[]) => entries.filter(({ modality }) => modalities.includes(modality));

  it.each([
    [40, ['video', 'music']],
    [40, ['image']],
    [20, ['speech', 'transcription']],
  ] as const)('are at least %i for %p, each with a price, its source and its date', (least, modalities) => {
    const priced = of(...modalities).filter(({ prices, deployments }) => {
      const versions = [...prices, ...deployments.flatMap((deployment) => deployment.prices ?? [])];
      return versions.length > 0 && versions.every((each) => each.source !== '' && each.checked_at !== undefined);
    });
    expect(priced.length).toBeGreaterThanOrEqual(least);
    expect(priced.length).toBe(of(...modalities).length);
  });

  it('say whether their videos have sound', () => {
    const unknown = of('video').filter(({ media }) => media?.audio === undefined);
    expect(unknown.map(({ id }) => id)).toEqual([]);
  });
});

describe('the chat models of the built-in catalogue', () => {
  let entries: ReadonlyMap<string, CatalogEntry>;
  beforeAll(async () => {
    entries = new Map((await loadCatalog(null)).map(({ entry }) => [entry.id, entry]));
  });

  // https://docs.x.ai/developers/model-capabilities/text/reasoning
  it.each([
    ['xai/grok-4.3', ['none', 'low', 'medium', 'high']],
    ['xai/grok-4.5', ['low', 'medium', 'high']],
    ['xai/grok-4.6', ['low', 'medium', 'high', 'xhigh']],
  ])('%s has the efforts of its vendor', (id, efforts) => {
    expect(entries.get(id)?.features?.reasoning).toEqual(efforts);
  });

  // https://api.x.ai/v1/language-models names no limit of its own; the lower one is OpenRouter's.
  it('xai/grok-4.3 answers as long as its hosts let it', () => {
    expect(entries.get('xai/grok-4.3')?.max_output).toBe(900_000);
  });

  it.each(['minimax/minimax-m2.7', 'minimax/minimax-m2.7-highspeed'])('%s has ended at MiniMax', (id) => {
    const own = entries.get(id)?.deployments.find(({ provider }) => provider === 'minimax');
    expect(own?.retires).toBe('2026-11-18');
  });

  it('xai/grok-build-0.1 has ended', () => {
    expect(entries.get('xai/grok-build-0.1')?.deployments.map(({ retires }) => retires)).toEqual(['2026-11-19']);
  });

  it('minimax/minimax-m3 takes images', () => {
    const model = entries.get('minimax/minimax-m3');
    expect([model?.input_modalities, model?.features?.vision]).toEqual([['text', 'image'], true]);
  });
});
