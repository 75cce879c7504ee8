/** What the catalogue charges for what vendors of media report. */
import { compilePrice } from '../../src/billing/pricing/price';
import type { CatalogEntry } from '../../src/models/catalog.schema';
import { loadCatalog } from '../../src/models/load-catalog';
import { NO_USAGE, type UsageVector } from '../../src/providers/contract/usage';

describe('the charge for what a vendor reports', () => {
  let catalog: readonly CatalogEntry[];
  beforeAll(async () => {
    catalog = (await loadCatalog(null)).map(({ entry }) => entry);
  });

  it.each<[string, string, Partial<UsageVector>, bigint]>([
    ['credits', 'elevenlabs/eleven-flash-v2.5', { characters: 100, units: 50 }, 4_000n],
    ['characters, without credits', 'elevenlabs/eleven-flash-v2.5', { characters: 100 }, 4_000n],
    ['characters', 'deepgram/aura-2', { characters: 100 }, 3_000n],
    ['seconds, rounded up', 'deepgram/nova-3', { seconds: 59.5 }, 5_200n],
    ['credits', 'black-forest-labs/flux-2-pro', { images: 1, units: 4.5 }, 45_000n],
    ['images, without credits', 'black-forest-labs/flux-2-pro', { images: 1 }, 45_000n],
    ['its own charge', 'xai/grok-imagine-image', { images: 1, vendorCostMicro: 18_000.5 }, 18_001n],
    ['tokens', 'google/gemini-3-pro-image', { images: 1, outputImage: 1_120 }, 134_400n],
  ])('is right for %s of %s', (_what, id, usage, expected) => {
    const price = catalog.find((entry) => entry.id === id)?.prices.at(-1);
    expect(price && compilePrice(price).costMicro({ ...NO_USAGE, ...usage })).toBe(expected);
  });
});
