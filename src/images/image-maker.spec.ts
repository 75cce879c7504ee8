import { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { tinyPng } from '../../test/conformance/media-answers';
import { providerErrorOf } from '../../test/conformance/provider-call';
import { compilePrice } from '../billing/pricing/price';
import type { Candidate } from '../inference/inference.types';
import type { ArtifactLimits, OutboundClient } from '../core/outbound/outbound-client';
import { OutboundError } from '../core/outbound/outbound-error';
import type { Price } from '../models/catalog-model';
import type { GeneratedImage, ImageRequest, ImageResult } from '../providers/contract/images';
import type { ProviderCall } from '../providers/contract/provider-call';
import { ProviderError } from '../providers/contract/provider-error';
import type { RequestMapping } from '../providers/contract/request-mapping';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import { ImageMaker, type MadeImages } from './image-maker';

Logger.overrideLogger(false);

const PNG = Buffer.from('89504e470d0a1a0a00', 'hex');
/** Offset of the width in a PNG file; the height follows. */
const WIDTH_OFFSET = 16;
/** A PNG of 16 megapixels that compresses badly: two of three bytes remain. */
const BYTES_OF_4K = 32 * 1_048_576;
const GIF = Buffer.from('GIF89a pixels');
const USAGE: UsageVector = { ...NO_USAGE, inputText: 5, outputImage: 100 };
const REQUEST: ImageRequest = {
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
  images: [],
  mask: null,
  delivery: 'bytes',
};
const image = (bytes: Buffer = PNG): GeneratedImage => ({ bytes, revisedPrompt: null });
const at = (url: string): GeneratedImage => ({ url, revisedPrompt: null });

interface Scene extends Partial<Pick<Candidate, 'quirks'>> {
  /** The result of each call, in order. */
  readonly results: readonly (ImageResult | Error)[];
  readonly imagesPerCall?: number;
  readonly mapping?: RequestMapping;
  readonly isByTokens?: boolean;
  readonly request?: Partial<ImageRequest>;
}

const BY_TOKENS: Price = { tokens: { per_1m_micro: { input: 1, output: 1 } }, unit: { per_unit_micro: 1 } };
const PER_IMAGE: Price = { image: { rows: [{ per_image_micro: 1 }] }, unit: { per_unit_micro: 1 } };

/** Returns the images and the number of images requested in each call. */
async function make({
  results,
  imagesPerCall,
  quirks,
  mapping,
  isByTokens = false,
  request,
}: Scene): Promise<MadeImages & { readonly counts: readonly number[] }> {
  const counts: number[] = [];
  const generate = async ({ count }: ImageRequest): Promise<ImageResult> => {
    const result = results[counts.push(count) - 1];
    if (result === undefined || result instanceof Error) throw result;
    return result;
  };
  const outbound = {
    fetchArtifact: async (url: string, { maxBytes }: ArtifactLimits) => {
      if (url.includes('unreachable')) throw new Error('unreachable');
      const rest = url.includes('4k') ? Buffer.alloc(BYTES_OF_4K) : Buffer.alloc(0);
      if (rest.length > maxBytes) throw new OutboundError('too-large');
      return { body: Readable.from([PNG.subarray(0, 4), PNG.subarray(4), rest]), contentType: 'text/html' };
    },
  } as unknown as OutboundClient;
  const provider = { id: 'fake', images: { generate } };
  const candidate = {
    provider,
    quirks: { imagesPerCall, ...quirks },
    deployment: { mapping },
    price: compilePrice(isByTokens ? BY_TOKENS : PER_IMAGE),
  } as unknown as Candidate;
  const call = { requestId: 'req_1', publicModel: 'v/images' } as ProviderCall;
  return { ...(await new ImageMaker(outbound).make({ ...REQUEST, ...request }, candidate, call)), counts };
}

describe('ImageMaker calls', () => {
  it.each([
    [1, undefined, [1]],
    [10, undefined, [10]],
    [10, 10, [10]],
    [10, 1, Array(10).fill(1)],
    [10, 4, [3, 3, 4]],
    [7, 3, [2, 2, 3]],
    [2, 5, [2]],
  ])('splits %d images at %s images per call into %j', async (count, imagesPerCall, expected) => {
    const results = Array.from({ length: 10 }, () => ({ images: [image()], usage: null }));
    expect((await make({ results, imagesPerCall, request: { count } })).counts).toEqual(expected);
  });
});

describe('an option of the output', () => {
  const results = [{ images: [image()], usage: null }];
  const mapping = { map: { format: 'output_format' }, output: {} };

  it.each<[string, Partial<Scene>]>([
    ['a deployment that takes it', { quirks: { imageOutput: true }, request: { background: 'opaque' } }],
    ['a deployment with a mapping of formats', { mapping, request: { format: 'webp' } }],
    ['a deployment without options, when none is asked for', {}],
  ])('is sent to %s', async (_what, scene) => {
    expect((await make({ results, ...scene })).images).toHaveLength(1);
  });

  it.each<[string, Partial<Scene>]>([
    ['output_format', { request: { format: 'webp' } }],
    ['output_format', { mapping: { map: {}, output: {} }, request: { format: 'webp' } }],
    ['background', { mapping, request: { background: 'opaque' } }],
    ['complexity', { request: { complexity: 'low' } }],
    ['output_compression', { request: { compression: 50 } }],
    ['moderation', { request: { moderation: 'low' } }],
    ['input_fidelity', { request: { inputFidelity: 'low' } }],
  ])('is refused before the call where the deployment has none: %s', async (param, scene) => {
    const refusal = await providerErrorOf(make({ results, ...scene }));
    expect([refusal.code, refusal.options]).toMatchObject(['validation_failed', { param, phase: 'connect' }]);
  });
});

describe('ImageMaker images', () => {
  it.each([
    ['bytes', image(), PNG],
    ['a URL', at('https://vendor.example/a.png'), PNG],
  ])('returns an image given as %s as bytes with the sniffed type', async (_what, given, bytes) => {
    const { images, outputBytes } = await make({ results: [{ images: [given], usage: null }] });
    expect(images).toEqual([{ bytes, contentType: 'image/png', revisedPrompt: null, size: null }]);
    expect(outputBytes).toBe(PNG.length);
  });

  it('fetches a 4K image of 32 MiB', async () => {
    const { outputBytes } = await make({ results: [{ images: [at('https://vendor.example/4k.png')], usage: null }] });
    expect(outputBytes).toBe(PNG.length + BYTES_OF_4K);
  });

  it.each([
    ['is not an image', image(Buffer.from('<html>'))],
    ['has an unsupported type', image(GIF)],
    ['cannot be fetched', at('https://unreachable.example/a.png')],
  ])('drops an image that %s, and fails with provider_error when no other is left', async (_what, bad) => {
    const count = 2;
    const some = await make({ results: [{ images: [bad, image()], usage: USAGE }], request: { count } });
    expect([some.images.length, some.usage?.images]).toEqual([1, 1]);
    const none = make({ results: [{ images: [bad], usage: USAGE }] });
    await expect(none).rejects.toMatchObject({ code: 'provider_error', options: { fallback: false } });
  });

  it('returns vendor URLs unchanged for url delivery, and drops images without a URL', async () => {
    const urls = ['https://vendor.example/a.png', 'http://vendor.example/a.png', 'HTTPS://vendor.example/b.png'];
    const results = [{ images: [...urls.map(at), image()], usage: null }];
    const { images } = await make({ results, request: { delivery: 'url', count: 4 } });
    expect(images).toEqual(urls.map((url) => ({ url, revisedPrompt: null, size: null })));
  });

  it('reads the size from each image, whatever size was requested, and leaves it unknown in a damaged one', async () => {
    const wide = Buffer.from(tinyPng());
    wide.writeUInt32BE(1344, WIDTH_OFFSET);
    wide.writeUInt32BE(768, WIDTH_OFFSET + 4);
    const results = [{ images: [image(wide), image(tinyPng()), image(PNG)], usage: null }];
    const { images } = await make({ results, request: { count: 3, size: '1920x1080' } });
    expect(images.map(({ size }) => size)).toEqual(['1344x768', '1x1', null]);
  });

  it('returns a revised prompt only when it differs from the prompt', async () => {
    const prompts = [null, 'a cat', 'a grey cat'].map((revisedPrompt) => ({ ...image(), revisedPrompt }));
    const { images } = await make({ results: [{ images: prompts, usage: null }], request: { count: 3 } });
    expect(images.map(({ revisedPrompt }) => revisedPrompt)).toEqual([null, null, 'a grey cat']);
  });

  it('drops surplus images', async () => {
    const { images, usage } = await make({ results: [{ images: [image(), image()], usage: null }] });
    expect([images.length, usage?.images]).toEqual([1, 1]);
  });
});

describe('ImageMaker usage', () => {
  const one = { images: [image()], usage: USAGE };
  const silent = { images: [image()], usage: null };
  const scene = { imagesPerCall: 1, request: { count: 2 } };

  it('sums the usage of all calls and counts the returned images', async () => {
    const { usage } = await make({ ...scene, results: [one, one], isByTokens: true });
    expect(usage).toEqual({ ...NO_USAGE, inputText: 10, outputImage: 200, images: 2 });
  });

  it("sums the vendor's bills, which need no tokens, unless one call reported none", async () => {
    const billed = { images: [image()], usage: { ...NO_USAGE, units: 1.5 } };
    for (const isByTokens of [true, false]) {
      const { usage } = await make({ ...scene, results: [billed, billed], isByTokens });
      expect(usage).toEqual({ ...NO_USAGE, images: 2, units: 3 });
    }
    expect((await make({ ...scene, results: [billed, silent] })).usage).toEqual({ ...NO_USAGE, images: 2 });
    expect((await make({ ...scene, results: [billed, silent], isByTokens: true })).usage).toBeNull();
  });

  it('ignores failed calls', async () => {
    const failure = new ProviderError('provider_error', '', { phase: 'headers', fallback: false });
    const { usage } = await make({ ...scene, results: [failure, one], isByTokens: true });
    expect(usage).toEqual({ ...USAGE, images: 1 });
  });

  it.each<[string, ImageResult]>([
    ['did not report usage', silent],
    ['reported only zeros', { images: [image()], usage: { ...NO_USAGE, images: 1 } }],
    ['reported it for a dropped image', { images: [image(GIF), image()], usage: USAGE }],
  ])('is null when one call %s, unless the price is per image', async (_what, result) => {
    const scenario = { ...scene, results: [one, result], request: { count: 4 }, imagesPerCall: 2 };
    expect((await make({ ...scenario, isByTokens: true })).usage).toBeNull();
    expect((await make(scenario)).usage?.images).toBe(2);
  });
});
