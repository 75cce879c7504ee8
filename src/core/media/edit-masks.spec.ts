import { deflateSync } from 'node:zlib';
import { decode } from 'fast-png';
import { pngChunk, pngFile } from '../../../test/harness/png-file';
import type { GatewayError } from '../errors/gateway-error';
import { EditMasks, type MaskColor } from './edit-masks';
import type { ImageContentType } from '../types/image-format';

const masks = new EditMasks();
afterAll(() => masks.onModuleDestroy());

const convert = (bytes: Buffer, color: MaskColor = 'black', contentType: ImageContentType = 'image/png') =>
  masks.toBlackAndWhite({ bytes, contentType }, color, 'org');

/** The pixels of the converted mask. */
async function greysOf(bytes: Buffer, color?: MaskColor): Promise<number[]> {
  const { data, channels, depth } = decode((await convert(bytes, color)).bytes);
  expect([channels, depth]).toEqual([1, 8]);
  return [...data];
}

const refusalOf = (bytes: Buffer, contentType?: ImageContentType) =>
  convert(bytes, 'black', contentType).then(
    () => 'converted',
    ({ code, param }: GatewayError) => [code, param],
  );

const REFUSED = ['validation_failed', 'mask'];

/** Microseconds of CPU in this thread until the mask is refused. */
async function refusalCost(bytes: Buffer): Promise<number> {
  const before = process.threadCpuUsage();
  expect(await refusalOf(bytes)).toEqual(REFUSED);
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

/** Two columns and two rows, the first pixel transparent and the last more so than not. */
const ALPHA = pngFile({ width: 2, height: 2, type: 6 }, [
  [10, 20, 30, 0, 255, 255, 255, 255],
  [0, 0, 0, 128, 200, 200, 200, 127],
]);

/** After the header. */
function withMillionOf(type: string): Buffer {
  const chunks = Array<Buffer>(1_000_000).fill(pngChunk(type));
  return Buffer.concat([ALPHA.subarray(0, 33), ...chunks, ALPHA.subarray(33)]);
}

describe('a mask', () => {
  it.each([
    ['black', [0, 255, 255, 0]],
    ['white', [255, 0, 0, 255]],
  ] as const)('has its transparent pixels %s, and the others in the opposite color', async (color, greys) => {
    expect(await greysOf(ALPHA, color)).toEqual(greys);
  });

  it.each([
    ['grey with alpha', pngFile({ width: 2, height: 1, type: 4 }, [[9, 0, 9, 255]])],
    ['16 bits a channel', pngFile({ width: 2, height: 1, type: 4, depth: 16 }, [[9, 9, 0, 1, 9, 9, 255, 255]])],
    ['a transparent grey', pngFile({ width: 2, height: 1, type: 0 }, [[7, 8]], pngChunk('tRNS', Buffer.from([0, 7])))],
    [
      'a transparent color',
      pngFile(
        { width: 2, height: 2, type: 2 },
        [
          [1, 2, 3, 1, 2, 4],
          [0, 0, 0, 0, 0, 0],
        ],
        pngChunk('tRNS', Buffer.from([0, 1, 0, 2, 0, 3])),
      ),
    ],
    [
      'a transparent grey of two bits',
      pngFile({ width: 2, height: 1, type: 0, depth: 2 }, [[0b10110000]], pngChunk('tRNS', Buffer.from([0, 2]))),
    ],
    [
      'a palette of one bit',
      pngFile(
        { width: 2, height: 1, type: 3, depth: 1 },
        [[0b01000000]],
        pngChunk('PLTE', Buffer.from([1, 1, 1, 2, 2, 2])),
        pngChunk('tRNS', Buffer.from([0])),
      ),
    ],
  ])('may be a PNG of %s', async (_what, bytes) => {
    expect((await greysOf(bytes)).slice(0, 2)).toEqual([0, 255]);
  });

  it('may have a million chunks of texts', async () => {
    expect(await greysOf(withMillionOf('tEXt'))).toEqual([0, 255, 255, 0]);
  });

  it('may have 4,096 × 4,096 pixels, and does not keep the process from other work', async () => {
    const side = 4_096;
    const row = Buffer.alloc(4 * side, 255);
    row[3] = 0;
    const bytes = pngFile({ width: side, height: side, type: 6 }, Array<Buffer>(side).fill(row));
    const before = process.threadCpuUsage();
    const { bytes: converted } = await convert(bytes);
    const { user, system } = process.threadCpuUsage(before);
    expect([converted.readUInt32BE(16), converted.readUInt32BE(20)]).toEqual([side, side]);
    expect((user + system) / 1_000).toBeLessThan(250);
  });
});

describe('400 for a mask', () => {
  const large = { width: 4_096, height: 4_097, type: 4 };
  it.each([
    ['without alpha', pngFile({ width: 1, height: 1, type: 2 }, [[0, 0, 0]])],
    ['without a transparent pixel', pngFile({ width: 1, height: 1, type: 4 }, [[0, 128]])],
    ['that is cut short', ALPHA.subarray(0, -20)],
    ['whose pixels are missing', pngFile({ width: 2, height: 2, type: 6 }, [[0, 0, 0, 0, 0, 0, 0, 0]])],
    ['with a wrong checksum', Buffer.concat([ALPHA.subarray(0, 29), Buffer.alloc(4), ALPHA.subarray(33)])],
    ['of too many pixels', pngFile(large, [])],
    ['of 16 bits a channel and too many bytes', pngFile({ width: 4_096, height: 2_049, type: 6, depth: 16 }, [])],
    ['with interlacing', pngFile({ width: 1, height: 1, type: 4, interlacing: 1 }, [[0, 0]])],
  ])('%s', async (_what, bytes) => {
    expect(await refusalOf(bytes)).toEqual(REFUSED);
  });

  it('with a second header, which could declare any size', async () => {
    const second = pngFile({ width: 65_535, height: 65_535, type: 6 }, []).subarray(8, 33);
    expect(await refusalOf(Buffer.concat([ALPHA.subarray(0, 33), second, ALPHA.subarray(33)]))).toEqual(REFUSED);
  });

  it('with a million pixel chunks, at the CPU cost of one chunk of their total size', async () => {
    const many = withMillionOf('IDAT');
    const one = Buffer.concat([ALPHA.subarray(0, 33), pngChunk('IDAT', Buffer.alloc(12_000_000)), ALPHA.subarray(33)]);
    let [manyCost, oneCost] = [Infinity, Infinity];
    // The minimum of several rounds: garbage collection and other processes only add to the cost.
    for (let round = 0; round < 5; round++) {
      manyCost = Math.min(manyCost, await refusalCost(many));
      oneCost = Math.min(oneCost, await refusalCost(one));
    }
    // Walking the chunks here takes more than ten times as long.
    expect(manyCost / oneCost).toBeLessThan(4);
  });

  it('with a palette of four million colors, which would exceed the memory of the process', async () => {
    const palette = pngChunk('PLTE', Buffer.alloc(12_000_000));
    expect(await refusalOf(pngFile({ width: 1, height: 1, type: 3 }, [[0]], palette))).toEqual(REFUSED);
  });

  it('of another type', async () => {
    expect(await refusalOf(ALPHA, 'image/webp')).toEqual(REFUSED);
  });

  it('that decompresses to more than its pixels, without decompressing all', async () => {
    const bomb = deflateSync(Buffer.alloc(256 * 1_048_576));
    const file = pngFile({ width: 1, height: 1, type: 6 }, [], pngChunk('IDAT', bomb));
    const before = process.memoryUsage().rss;
    expect(await refusalOf(file)).toEqual(REFUSED);
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1_048_576);
  });
});
