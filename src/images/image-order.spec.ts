import type { GatewayError } from '../core/errors/gateway-error';
import type { Candidate } from '../inference/inference.types';
import type { CatalogModel } from '../models/catalog-model';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import { assertSupported, estimateImages, type ImageOrder, isSupported } from './image-order';

const ORDER: ImageOrder = {
  prompt: 'a cat',
  count: 1,
  size: null,
  quality: null,
  style: null,
  format: null,
  background: null,
  complexity: null,
  compression: null,
  moderation: null,
  inputFidelity: null,
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
const MASKED_EDITOR = modelOf({ features: { edit: true, mask: true, needs_mask: true } });

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
  const listed = { sizes: ['1x1'], qualities: ['hd'], styles: ['vivid'], formats: ['png'], backgrounds: ['opaque'] };
  const model = modelOf({ media: { ...listed, max_images: 3 } });

  it.each<[string, Partial<ImageOrder>, string, object]>([
    ['size', { size: '2x2' }, 'size', { supported: ['1x1'] }],
    ['quality', { quality: 'low' }, 'quality', { supported: ['hd'] }],
    ['style', { style: 'natural' }, 'style', { supported: ['vivid'] }],
    ['format', { format: 'webp' }, 'output_format', { supported: ['png'] }],
    ['background', { background: 'transparent' }, 'background', { supported: ['opaque'] }],
    ['number', { count: 4 }, 'n', { maximum: 3 }],
  ])('refuses an unlisted %s', (_what, order, param, details) => {
    expect(refusalOf(order, model)).toEqual([param, details]);
  });

  it('accepts listed values and unspecified ones', () => {
    const order = { size: '1x1', quality: 'hd', style: 'vivid', format: 'png', background: 'opaque', count: 3 };
    expect(refusalOf(order, model)).toBeNull();
    expect(refusalOf({}, model)).toBeNull();
  });

  it('refuses JPEG images with a transparent background, which they cannot have', () => {
    const any = modelOf({});
    expect(refusalOf({ format: 'jpeg', background: 'transparent' }, any)).toEqual(['background', undefined]);
    expect(refusalOf({ format: 'jpeg', background: 'opaque' }, any)).toBeNull();
    expect(refusalOf({ format: 'webp', background: 'transparent' }, any)).toBeNull();
  });

  it('refuses compressed images in a format without compression', () => {
    const any = modelOf({});
    for (const format of [null, 'png']) {
      expect(refusalOf({ format, compression: 50 }, any)).toEqual(['output_compression', { supported: [100] }]);
    }
    expect(refusalOf({ format: 'webp', compression: 0 }, any)).toBeNull();
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
    ['masked by a model that needs a mask', { isEdit: true, sources: [SOURCE], mask: MASK }, MASKED_EDITOR, null],
    ['not masked by a model that needs a mask', { isEdit: true, sources: [SOURCE] }, MASKED_EDITOR, 'mask'],
    ['referenced by a model that needs a mask', { sources: [SOURCE] }, MASKED_EDITOR, 'model'],
    ['not there for a model that needs a mask', {}, MASKED_EDITOR, 'model'],
  ])('are %s', (_how, order, model, param) => {
    expect(refusalOf(order, model)?.[0] ?? null).toBe(param);
  });
});

const candidate = (isByTokens: boolean, imagesPerCall?: number): Candidate =>
  ({ price: { isByTokens }, quirks: { imagesPerCall } }) as Candidate;
const estimate = (order: Partial<ImageOrder>, count: number, ...candidates: readonly Candidate[]): UsageVector =>
  estimateImages(
    { prompt: 'x'.repeat(40), size: null, quality: null, sources: [], mask: null, ...order } as ImageOrder,
    count,
    candidates,
    0.25,
  );

describe('estimateImages', () => {
  it('counts only images when no candidate charges by tokens', () => {
    expect(estimate({}, 3, candidate(false), candidate(false, 1))).toEqual({ ...NO_USAGE, images: 3 });
  });

  it.each([
    ['1024x1024', 'low', 272],
    ['1024x1536', 'low', 408],
    ['1024x1024', 'medium', 1_056],
    ['1536x1024', 'medium', 1_584],
    ['1024x1024', 'high', 4_160],
    ['1536x1024', 'high', 6_240],
    ['1536x1024', 'auto', 6_240],
    [null, null, 6_240],
  ])('counts the documented tokens for %s at %s', (size, quality, tokens) => {
    expect(estimate({ size, quality }, 2, candidate(true))).toEqual({
      ...NO_USAGE,
      inputText: 10,
      outputImage: 2 * tokens,
      images: 2,
    });
  });

  it('counts prompt and input images once per call, for the candidate with the fewest images per call', () => {
    const source = { param: 'image', url: 'https://files.example/a.png' };
    const mask = { bytes: Buffer.alloc(1), contentType: 'image/png' } as const;
    const { inputText, inputImage } = estimate(
      { sources: [source, source], mask },
      7,
      candidate(false),
      candidate(true, 3),
    );
    expect([inputText, inputImage]).toEqual([3 * 10, 3 * 3 * 6_240]);
  });
});
