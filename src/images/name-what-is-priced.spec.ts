import { compilePrice } from '../billing/price';
import type { Candidate } from '../inference/inference.types';
import type { CatalogModel, Price } from '../models/catalog-model';
import type { ImageOrder } from './image-order';
import { nameWhatIsPriced } from './name-what-is-priced';

const MODEL = { media: { sizes: ['1x1', '2x2'], qualities: ['hd', 'low'] } } as unknown as CatalogModel;
type Row = NonNullable<Price['image']>['rows'][number];

function named(order: Partial<ImageOrder>, rows: readonly Omit<Row, 'per_image_micro'>[], model = MODEL): object {
  return choose(order, model, [candidateOf(model, rows)]);
}

function choose(order: Partial<ImageOrder>, model: CatalogModel, candidates: readonly Candidate[]): object {
  const { size, quality } = nameWhatIsPriced({ size: null, quality: null, ...order } as ImageOrder, model, candidates);
  return { size, quality };
}

function candidateOf(model: CatalogModel, rows: readonly Omit<Row, 'per_image_micro'>[]): Candidate {
  const price: Price = { image: { rows: rows.map((row) => ({ ...row, per_image_micro: 1 })) } };
  return { model, price: compilePrice(price) } as Candidate;
}

describe('what a request leaves open', () => {
  it.each<[string, Partial<ImageOrder>, readonly Omit<Row, 'per_image_micro'>[], object]>([
    ['stays open where one price is for all', {}, [{}], { size: null, quality: null }],
    [
      'stays open where some have a price of their own',
      {},
      [{ size: '2x2' }, { size: '*' }],
      { size: null, quality: null },
    ],
    ['is the first size where each has its price', {}, [{ size: '1x1' }], { size: '1x1', quality: null }],
    ['is the first quality where each has its price', {}, [{ quality: 'hd' }], { size: null, quality: 'hd' }],
    ['is both where both have prices', {}, [{ size: '1x1', quality: 'hd' }], { size: '1x1', quality: 'hd' }],
    [
      'leaves what is asked for alone',
      { size: '2x2' },
      [{ size: '2x2', quality: 'hd' }],
      { size: '2x2', quality: 'hd' },
    ],
    ['stays open where nothing helps', {}, [{ size: '9x9' }], { size: null, quality: null }],
  ])('%s', (_what, order, rows, expected) => {
    expect(named(order, rows)).toEqual(expected);
  });

  it('stays open for a model that lists nothing', () => {
    const model = { media: null } as CatalogModel;
    expect(named({}, [{ size: '1x1' }], model)).toEqual({ size: null, quality: null });
  });

  describe('with models that may stand in', () => {
    const other = { media: { sizes: ['3x3'] } } as unknown as CatalogModel;

    it('is what the price of all depends on, where one name does for all', () => {
      const candidates = [candidateOf(MODEL, [{}]), candidateOf(other, [{ size: '1x1' }])];
      expect(choose({}, MODEL, candidates)).toEqual({ size: '1x1', quality: null });
    });

    it('is what its own price depends on, where it does not', () => {
      const candidates = [candidateOf(MODEL, [{ size: '1x1' }]), candidateOf(other, [{ size: '3x3' }])];
      expect(choose({}, MODEL, candidates)).toEqual({ size: '1x1', quality: null });
    });
  });
});
