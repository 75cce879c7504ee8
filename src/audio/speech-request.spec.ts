import { speechRequest } from '../../test/conformance/media-requests';
import type { CatalogModel } from '../models/catalog-model';
import { assertCanSpeak, estimateCharacters } from './speech-request';

describe('assertCanSpeak', () => {
  const model = {
    id: 'vendor/voice',
    features: { speed: false },
    media: { formats: ['mp3', 'wav'], voices: ['alloy'], max_characters: 5 },
  } as unknown as CatalogModel;
  const request = speechRequest({ input: 'Hello' });

  it('accepts what the catalogue lists', () => {
    expect(() => assertCanSpeak(model, request)).not.toThrow();
  });

  it.each([
    ['input', { input: 'Hello!' }, { maximum: 5 }],
    ['voice', { voice: 'ash' }, { allowed: ['alloy'] }],
    ['response_format', { format: 'opus' }, { allowed: ['mp3', 'wav'] }],
    ['speed', { speed: 2 }, undefined],
    ['instructions', { instructions: 'Whisper.' }, undefined],
  ] as const)('refuses another %s, with the allowed values', (param, option, details) => {
    expect(() => assertCanSpeak(model, { ...request, ...option })).toThrow(
      expect.objectContaining({ code: 'validation_failed', param, details }),
    );
  });

  it('counts characters as code points', () => {
    expect(() => assertCanSpeak(model, { ...request, input: '😀😀😀😀😀' })).not.toThrow();
  });
});

describe('estimateCharacters', () => {
  const request = speechRequest({ input: '你好, Anna 😀' });
  const pricedBy = (price: object): CatalogModel =>
    ({ prices: [{ price }], deployments: [] }) as unknown as CatalogModel;
  const speech = { per_1k_chars_micro: 1 };

  it('counts Chinese characters twice where a vendor bills characters of its own, so that the hold covers them', () => {
    const billed = pricedBy({ speech, unit: { per_unit_micro: 1 } });
    expect(estimateCharacters(request, [pricedBy({ speech }), billed])).toBe(12);
    const deployments = [{ prices: billed.prices }];
    expect(estimateCharacters(request, [{ ...pricedBy({ speech }), deployments } as unknown as CatalogModel])).toBe(12);
  });

  it('counts code points otherwise', () => {
    expect(estimateCharacters(request, [pricedBy({ speech })])).toBe(10);
  });
});
