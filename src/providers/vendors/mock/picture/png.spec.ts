import { crc32, inflateSync } from 'node:zlib';
import { imageSize } from 'image-size';
import { Canvas } from './canvas';
import { encodePng } from './png';

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

/** @throws when a checksum is wrong. */
function chunksOf(png: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = 8; at < png.length;) {
    const end = at + 8 + png.readUInt32BE(at);
    expect(png.readUInt32BE(end)).toBe(crc32(png.subarray(at + 4, end)));
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, end) });
    at = end + 4;
  }
  return chunks;
}

/** Undoes the up filter: the difference to the row above. */
function pixelsOf(data: Buffer, width: number, height: number): number[] {
  const rows = inflateSync(data);
  const rowBytes = 1 + 3 * width;
  expect(rows.length).toBe(rowBytes * height);
  for (let row = 0; row < height; row++) {
    expect(rows[row * rowBytes]).toBe(2);
    if (row === 0) continue;
    for (let at = 1; at < rowBytes; at++) {
      rows[row * rowBytes + at] = (rows[row * rowBytes + at] ?? 0) + (rows[(row - 1) * rowBytes + at] ?? 0);
    }
  }
  return Array.from({ length: width * height }, (_pixel, at) =>
    rows.readUIntBE(Math.floor(at / width) * rowBytes + 1 + (at % width) * 3, 3),
  );
}

it('writes every pixel of a canvas and the description into a valid PNG file', async () => {
  const canvas = new Canvas(37, 23);
  canvas.fillGradient(0x123456, 0xfedcba);
  canvas.fillCircle(20, 10, 7, 0x00ff00);
  const png = await encodePng(canvas, 'Größe 漢');
  const [header, text, data, end] = chunksOf(png);
  expect(imageSize(png)).toMatchObject({ width: 37, height: 23, type: 'png' });
  expect(header).toMatchObject({ type: 'IHDR', data: Buffer.from([0, 0, 0, 37, 0, 0, 0, 23, 8, 2, 0, 0, 0]) });
  expect(text?.data.toString('utf8')).toBe('Description\0\0\0\0\0Größe 漢');
  expect(end?.type).toBe('IEND');
  expect(pixelsOf(data?.data ?? Buffer.alloc(0), 37, 23)).toEqual([...canvas.pixels]);
});
