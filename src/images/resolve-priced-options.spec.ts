import { compilePrice } from '../billing/pricing/price';
import type { Candidate } from '../inference/inference.types';
import type { CatalogModel, Price } from '../models/catalog-model';
import { type ImageOrder, resolvePricedOptions } from './image-order';

const MODEL = { media: { sizes: ['1x1', '2x2'], qualities: ['hd', 'low'] } } as unknown as CatalogModel;
type Row = NonNullable<Price['image']>['rows'][number];

function resolve(order: Partial<ImageOrder>, rows: readonly Omit<Row, 'per_image_micro'>[], model = MODEL): object {
  return choose(order, model, [candidateOf(model, rows)]);
}

function choose(order: Partial<ImageOrder>, model: CatalogModel, candidates: readonly Candidate[]): object {
  const { size, quality } = resolvePricedOptions(
    { size: null, quality: null, ...order } as ImageOrder,
    model,
    candidates,
  );
  return { size, quality };
}

function candidateOf(model: CatalogModel, rows: readonly Omit<Row, 'per_image_micro'>[]): Candidate {
  const price: Price = { image: { rows: rows.map((row) => ({ ...row, per_image_micro: 1 })) } };
  return { model, price: compilePrice(price) } as Candidate;
}

describe('resolvePricedOptions', () => {
  it.each<[string, Partial<ImageOrder>, readonly Omit<Row, 'per_image_micro'>[], object]>([
    ['keeps options open when one price applies to all', {}, [{}], { size: null, quality: null }],
    [
      'keeps options open when a wildcard row covers them',
      {},
      [{ size: '2x2' }, { size: '*' }],
      { size: null, quality: null },
    ],
    ['takes the first size when sizes are priced separately', {}, [{ size: '1x1' }], { size: '1x1', quality: null }],
    [
      'takes the first quality when qualities are priced separately',
      {},
      [{ quality: 'hd' }],
      { size: null, quality: 'hd' },
    ],
    ['takes both when both determine the price', {}, [{ size: '1x1', quality: 'hd' }], { size: '1x1', quality: 'hd' }],
    ['keeps requested options', { size: '2x2' }, [{ size: '2x2', quality: 'hd' }], { size: '2x2', quality: 'hd' }],
    ['keeps options open when no listed value has a price', {}, [{ size: '9x9' }], { size: null, quality: null }],
  ])('%s', (_what, order, rows, expected) => {
    expect(resolve(order, rows)).toEqual(expected);
  });

  it('leaves options unset for a model that lists no values', () => {
    const model = { media: null } as CatalogModel;
    expect(resolve({}, [{ size: '1x1' }], model)).toEqual({ size: null, quality: null });
  });

  describe('with fallback models', () => {
    const other = { media: { sizes: ['3x3'] } } as unknown as CatalogModel;

    it('takes a value that all models have a price for', () => {
      const candidates = [candidateOf(MODEL, [{}]), candidateOf(other, [{ size: '1x1' }])];
      expect(choose({}, MODEL, candidates)).toEqual({ size: '1x1', quality: null });
    });

    it('takes the value of the requested model when no value fits all', () => {
      const candidates = [candidateOf(MODEL, [{ size: '1x1' }]), candidateOf(other, [{ size: '3x3' }])];
      expect(choose({}, MODEL, candidates)).toEqual({ size: '1x1', quality: null });
    });
  });
});
