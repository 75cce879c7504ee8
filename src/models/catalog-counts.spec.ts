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
