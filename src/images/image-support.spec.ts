import type { GatewayError } from '../core/errors/gateway-error';
import type { CatalogModel } from '../models/catalog-model';
import { assertSupported, type ImageOrder, isSupported } from './image-order';

const ORDER: ImageOrder = {
  prompt: 'a cat',
  count: 1,
  size: null,
  quality: null,
  style: null,
  user: null,
  responseFormat: 'url',
  isEdit: false,
  sources: [],
  sourceField: 'input_images',
  mask: null,
};
const SOURCE = { param: 'input_images[0]', url: 'https://files.example/a.png' };
const MASK = { bytes: Buffer.alloc(0), contentType: 'image/png' } as const;

const modelOf = (model: Pick<Partial<CatalogModel>, 'features' | 'media'>): CatalogModel =>
  ({ id: 'v/images', features: {}, media: null, ...model }) as CatalogModel;
const EDITOR = modelOf({ features: { edit: true, mask: true } });

function refusalOf(order: Partial<ImageOrder>, model: CatalogModel): [string | undefined, unknown] | null {
  const whole = { ...ORDER, ...order };
  let refusal: [string | undefined, unknown] | null = null;
  try {
    assertSupported(whole, model);
  } catch (error) {
    const { param, details } = error as GatewayError;
    refusal = [param, details];
  }
  expect(isSupported(whole, model)).toBe(refusal === null);
  return refusal;
}

describe('values listed in the catalogue', () => {
  const model = modelOf({ media: { sizes: ['1x1'], qualities: ['hd'], styles: ['vivid'], max_images: 3 } });

  it.each<[string, Partial<ImageOrder>, string, object]>([
    ['size', { size: '2x2' }, 'size', { supported: ['1x1'] }],
    ['quality', { quality: 'low' }, 'quality', { supported: ['hd'] }],
    ['style', { style: 'natural' }, 'style', { supported: ['vivid'] }],
    ['number', { count: 4 }, 'n', { maximum: 3 }],
  ])('refuses an unlisted %s', (_what, order, param, details) => {
    expect(refusalOf(order, model)).toEqual([param, details]);
  });

  it('accepts listed values and unspecified ones', () => {
    expect(refusalOf({ size: '1x1', quality: 'hd', style: 'vivid', count: 3 }, model)).toBeNull();
    expect(refusalOf({}, model)).toBeNull();
  });

  it('accepts any value when the catalogue lists none', () => {
    for (const media of [null, {}]) {
      expect(refusalOf({ size: '2x2', quality: 'low', style: 'any', count: 10 }, modelOf({ media }))).toBeNull();
    }
  });
});

describe('input images', () => {
  it.each<[string, Partial<ImageOrder>, CatalogModel, string | null]>([
    ['edited by a model with edit support', { isEdit: true, sources: [SOURCE], mask: MASK }, EDITOR, null],
    [
      'edited by a model without edit support',
      { isEdit: true, sources: [SOURCE] },
      modelOf({ media: { references: true } }),
      'model',
    ],
    [
      'masked by a model without mask support',
      { mask: MASK, isEdit: true },
      modelOf({ features: { edit: true } }),
      'mask',
    ],
    ['referenced by a model with edit support', { sources: [SOURCE] }, EDITOR, null],
    [
      'referenced by a model with reference support',
      { sources: [SOURCE] },
      modelOf({ media: { references: true } }),
      null,
    ],
    ['referenced by a text-only model', { sources: [SOURCE] }, modelOf({}), 'input_images'],
    ['not there', {}, modelOf({}), null],
  ])('are %s', (_how, order, model, param) => {
    expect(refusalOf(order, model)?.[0] ?? null).toBe(param);
  });
});
