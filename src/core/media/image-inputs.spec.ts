import * as fc from 'fast-check';
import { pngHead as png } from '../../../test/harness/png-head';
import { GatewayError } from '../errors/gateway-error';
import { sniffImageType } from '../types/image-format';
import type { ByteBudget } from '../outbound/byte-budget';
import type { FetchedImage, OutboundClient } from '../outbound/outbound-client';
import { ImageInputs, readDimensions } from './image-inputs';

/** A fake of the guarded client: judges literals and serves some images. */
class FakeOutbound {
  readonly fetched: string[] = [];
  readonly aborted: string[] = [];
  constructor(private readonly images: Readonly<Record<string, Buffer>> = {}) {}

  assertPublicUrl(url: string, param: string): void {
    if (!url.startsWith('https://')) throw new GatewayError('validation_failed', 'not https', { param });
    if (url.includes('127.0.0.1')) throw new GatewayError('ssrf_blocked', 'blocked', { param });
  }

  fetchImage(url: string, param: string, signal: AbortSignal, budget: ByteBudget): Promise<FetchedImage> {
    this.fetched.push(url);
    const bytes = this.images[url];
    const failure = new GatewayError('validation_failed', 'could not be fetched', { param });
    if (bytes !== undefined) {
      return budget.take(bytes.length) ? Promise.resolve({ bytes, contentType: 'image/png' }) : Promise.reject(failure);
    }
    return new Promise((_resolve, reject) => {
      const fail = (): void => reject(failure);
      if (url.endsWith('/missing')) fail();
      else
        signal.addEventListener('abort', () => {
          this.aborted.push(url);
          fail();
        });
    });
  }
}

const setUp = (images?: Record<string, Buffer>) => {
  const outbound = new FakeOutbound(images);
  return { outbound, inputs: new ImageInputs(outbound as unknown as OutboundClient) };
};
const { inputs } = setUp();
const never = new AbortController().signal;

const fileOf = (bytes: Buffer) => ({ field: 'image', contentType: 'application/pdf', bytes, sha256: '' });

function refusalOf(act: () => unknown): readonly [code: string, param: string | undefined] {
  try {
    act();
  } catch (error) {
    if (error instanceof GatewayError) return [error.code, error.param];
    throw error;
  }
  throw new Error('it was accepted');
}

describe('an image', () => {
  it.each([
    ['16,384 pixels a side', png(16_384, 1)],
    ['64 megapixels', png(8_192, 8_192)],
  ])('may be %s', (_what, bytes) => {
    expect(inputs.fromFile(fileOf(bytes), 'mask')).toEqual({ bytes, contentType: 'image/png' });
  });

  it.each([
    ['a pixel more a side', png(16_385, 1)],
    ['a row more than 64 megapixels', png(8_192, 8_193)],
    ['no width', png(0, 1)],
    ['no height', png(1, 0)],
    ['all that fits in a header', png(0xffffffff, 0xffffffff)],
  ])('may not be %s', (_what, bytes) => {
    expect(refusalOf(() => inputs.fromFile(fileOf(bytes), 'mask'))).toEqual(['validation_failed', 'mask']);
  });
});

describe('an inline image', () => {
  const bytes = Buffer.concat([png(1, 1), Buffer.from('trailing')]);
  const base64 = bytes.toString('base64');
  it.each([
    base64,
    `data:image/png;base64,${base64}`,
    `DATA:image/jpeg;BASE64,${base64}`,
    `data:;base64,${base64}`,
    `data:image/png;charset=utf-8;name="a.png";base64,${base64}`,
  ])('is accepted as %s', (source) => {
    expect(inputs.parse([source], 'input_images')).toEqual([
      { param: 'input_images[0]', image: { bytes, contentType: 'image/png' } },
    ]);
  });

  it.each([
    '',
    base64.slice(0, -1),
    `${base64}=`,
    `${base64.slice(0, 8)}\n${base64.slice(8)}`,
    `${base64.slice(0, 4)}====${base64.slice(8)}`,
    Buffer.concat([png(1, 1), Buffer.from([0xfb, 0xef, 0xbe, 1, 2, 3])]).toString('base64url'),
    Buffer.concat([png(1, 1), Buffer.from([0xff, 0xff, 0xff, 1, 2, 3])]).toString('base64url'),
    `${Buffer.concat([png(1, 1), Buffer.from('x')])
      .toString('base64')
      .slice(0, -3)}B==`,
    Buffer.from('no image').toString('base64'),
    `data:image/png,${base64}`,
    'data:image/png;base64,',
    'http://example.com/a.png',
    'file:///etc/passwd',
    'javascript:1',
    '//example.com/a.png',
    ' https://example.com',
    'not an image',
  ])('is refused as %s', (source) => {
    const good = `data:image/png;base64,${base64}`;
    expect(refusalOf(() => inputs.parse([good, source], 'input_images'))).toEqual([
      'validation_failed',
      'input_images[1]',
    ]);
  });

  it('is valid base64 only in its canonical encoding', () => {
    const picture = fc.uint8Array({ maxLength: 20 }).map((rest) => Buffer.concat([png(1, 1), rest]).toString('base64'));
    fc.assert(
      fc.property(picture, fc.nat(60), fc.string({ maxLength: 2 }), (text, at, insertion) => {
        const source = text.slice(0, at) + insertion + text.slice(at);
        fc.pre(!source.includes(':'));
        const canonical = Buffer.from(source, 'base64').toString('base64') === source;
        const isImage = canonical && sniffImageType(Buffer.from(source, 'base64')) !== null;
        const accepted = ((): boolean => {
          try {
            return inputs.parse([source], 'p').length === 1;
          } catch {
            return false;
          }
        })();
        expect(accepted).toBe(isImage && canParse(source));
      }),
    );
  });
  const canParse = (source: string): boolean => {
    const decoded = Buffer.from(source, 'base64');
    const size = readDimensions(decoded, 'image/png');
    return size !== null && size.width * size.height > 0 && Math.max(size.width, size.height) <= 16_384;
  };

  it('is limited to 20 MiB, and 50 MiB with the others', () => {
    const large = (size: number): string => Buffer.concat([png(1, 1), Buffer.alloc(size - 33)]).toString('base64');
    const mib = 1_048_576;
    expect(inputs.parse([large(20 * mib)], 'p')).toHaveLength(1);
    expect(refusalOf(() => inputs.parse([large(20 * mib + 3)], 'p'))).toEqual(['validation_failed', 'p[0]']);
    const [most, rest] = [large(20 * mib), large(10 * mib)];
    expect(inputs.parse([most, most, rest], 'p')).toHaveLength(3);
    expect(refusalOf(() => inputs.parse([most, most, rest, large(100)], 'p'))).toEqual(['validation_failed', 'p']);
  });
});

describe('an image URL', () => {
  it('is checked when parsed, and fetched only when loaded', async () => {
    const url = 'https://example.com/a.png';
    const { inputs: own, outbound } = setUp({ [url]: png(2, 2) });
    const parsed = own.parse([url, png(1, 1).toString('base64'), url], 'input_images');
    expect(outbound.fetched).toEqual([]);
    expect((await own.load(parsed, never)).map(({ bytes }) => bytes.readUInt32BE(16))).toEqual([2, 1, 2]);
    expect(outbound.fetched).toEqual([url, url]);
  });

  it('is refused by the guard before any fetch', () => {
    expect(refusalOf(() => inputs.parse(['https://127.0.0.1/'], 'input_images'))).toEqual([
      'ssrf_blocked',
      'input_images[0]',
    ]);
  });

  it('is validated like other images: a pixel bomb is refused by its header', async () => {
    const { inputs: own } = setUp({ 'https://a.example/': png(60_000, 60_000) });
    const parsed = own.parse([png(1, 1).toString('base64'), 'https://a.example/'], 'input_images');
    await expect(own.load(parsed, never)).rejects.toMatchObject({
      code: 'validation_failed',
      param: 'input_images[1]',
    });
  });

  it('that fails aborts the others, and is named in param', async () => {
    const { inputs: own, outbound } = setUp();
    const parsed = own.parse(['https://slow.example/', 'https://a.example/missing'], 'input_images');
    await expect(own.load(parsed, never)).rejects.toMatchObject({ param: 'input_images[1]' });
    expect(outbound.aborted).toEqual(['https://slow.example/']);
  });

  it('is aborted when the client disconnects', async () => {
    const { inputs: own, outbound } = setUp();
    const client = new AbortController();
    const loading = own.load(own.parse(['https://slow.example/'], 'p'), client.signal);
    client.abort();
    await expect(loading).rejects.toMatchObject({ code: 'validation_failed' });
    expect(outbound.aborted).toEqual(['https://slow.example/']);
  });

  it('counts towards the total of 50 MiB', async () => {
    const large = Buffer.concat([png(1, 1), Buffer.alloc(20 * 1_048_576 - 33)]);
    const urls = ['https://a.example/', 'https://b.example/', 'https://c.example/'];
    const { inputs: own } = setUp(Object.fromEntries(urls.map((url) => [url, large])));
    await expect(own.load(own.parse(urls, 'p'), never)).rejects.toMatchObject({ code: 'validation_failed' });
    expect(await own.load(own.parse(urls.slice(0, 2), 'p'), never)).toHaveLength(2);
  });
});
