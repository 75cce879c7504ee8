import * as fc from 'fast-check';
import { pngHead as png } from '../../../test/harness/png-head';
import { sniffImageType } from '../types/image-format';
import { readDimensions } from './image-inputs';

const PNG_MAGIC = png(1, 1).subarray(0, 8);

function gif(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(13);
  bytes.write('GIF89a', 0);
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return bytes;
}

function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const bytes = Buffer.alloc(30);
  bytes.write('RIFF', 0);
  bytes.write(`WEBP${kind}`, 8);
  if (kind === 'VP8X') {
    bytes.writeUIntLE(width - 1, 24, 3);
    bytes.writeUIntLE(height - 1, 27, 3);
  } else if (kind === 'VP8L') {
    bytes[20] = 0x2f;
    bytes.writeUInt32LE((((height - 1) << 14) | (width - 1)) >>> 0, 21);
  } else {
    bytes.writeUIntBE(0x9d012a, 23, 3);
    bytes.writeUInt16LE(width, 26);
    bytes.writeUInt16LE(height, 28);
  }
  return bytes;
}

const segment = (marker: number, content: Buffer): Buffer => {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
};
const frame = (width: number, height: number, marker = 0xc0): Buffer => {
  const content = Buffer.alloc(15);
  content[0] = 8;
  content.writeUInt16BE(height, 1);
  content.writeUInt16BE(width, 3);
  return segment(marker, content);
};
const jpeg = (...segments: Buffer[]): Buffer => Buffer.concat([Buffer.from([0xff, 0xd8]), ...segments]);

function sizeOf(bytes: Buffer): object | null {
  const type = sniffImageType(bytes);
  return type === null ? null : readDimensions(bytes, type);
}

describe('the size of an image', () => {
  it.each<[string, Buffer]>([
    ['a PNG', png(640, 480)],
    ['a GIF', gif(640, 480)],
    ['a lossy WebP', webp('VP8 ', 640, 480)],
    ['a lossless WebP', webp('VP8L', 640, 480)],
    ['an extended WebP', webp('VP8X', 640, 480)],
    ['a JPEG', jpeg(frame(640, 480))],
    ['a progressive JPEG', jpeg(frame(640, 480, 0xc2))],
    ['a lossless JPEG', jpeg(frame(640, 480, 0xc3))],
    ['a JPEG after its tables', jpeg(segment(0xe0, Buffer.alloc(14)), segment(0xc4, Buffer.alloc(9)), frame(640, 480))],
    ['a JPEG with filling', jpeg(segment(0xfe, Buffer.alloc(0)), Buffer.from([0xff, 0xff]), frame(640, 480))],
    [
      'a JPEG, ignoring the thumbnail in its metadata',
      jpeg(segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), jpeg(frame(1, 1))])), frame(640, 480)),
    ],
  ])('is read from %s', (_what, bytes) => {
    expect(sizeOf(bytes)).toEqual({ width: 640, height: 480 });
  });

  it.each<[string, Buffer]>([
    ['a PNG that ends early', png(1, 1).subarray(0, 32)],
    ['a PNG that begins with something else', Buffer.concat([PNG_MAGIC, Buffer.alloc(40)])],
    ['a WebP of an unknown kind', webp('VP8X', 1, 1).fill('ALPH', 12, 16)],
    ['a JPEG without a frame', jpeg(segment(0xe0, Buffer.alloc(4)))],
    ['a JPEG whose scan comes first', jpeg(segment(0xda, Buffer.alloc(4)), frame(1, 1))],
    ['a JPEG with bytes between its segments', jpeg(segment(0xe0, Buffer.alloc(4)), Buffer.from([0]), frame(1, 1))],
    ['a JPEG with a segment shorter than its own length', jpeg(Buffer.from([0xff, 0xe0, 0, 1]), frame(1, 1))],
    ['a JPEG of nothing but segments', jpeg(...Array.from({ length: 5_000 }, () => segment(0xfe, Buffer.alloc(0))))],
    ['an SVG', Buffer.from('<svg width="1" height="1"/>')],
    ['nothing', Buffer.alloc(0)],
    ['a page of HTML that ends in a PNG', Buffer.concat([Buffer.from('<html>'), png(1, 1)])],
  ])('rejects %s', (_what, bytes) => {
    expect(sizeOf(bytes)).toBeNull();
  });

  it('is never read beyond the end, for any bytes', () => {
    const starts = fc.constantFrom(PNG_MAGIC, jpeg(), Buffer.from('GIF89a'), webp('VP8X', 1, 1).subarray(0, 16));
    fc.assert(
      fc.property(starts, fc.uint8Array({ maxLength: 64 }), (start, rest) => {
        const bytes = Buffer.concat([start, rest]);
        expect(() => sizeOf(bytes)).not.toThrow();
      }),
    );
  });
});
