import { promisify } from 'node:util';
import { constants, crc32, deflate } from 'node:zlib';
import type { Canvas } from './canvas';

const deflateAside = promisify(deflate);

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BITS_PER_CHANNEL = 8;
const TRUE_COLOR = 2;
/** Rows are written as the difference to the row above, which is zero where the color continues. */
const FILTER_UP = 2;
const BYTES_PER_PIXEL = 3;

/**
 * A canvas as a PNG file. Compressed off the event loop.
 * @param description Kept in the file as text.
 */
export async function encodePng(canvas: Canvas, description: string): Promise<Buffer> {
  const data = await deflateAside(filteredRows(canvas), { level: constants.Z_BEST_SPEED });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(canvas.width, 0);
  header.writeUInt32BE(canvas.height, 4);
  header.set([BITS_PER_CHANNEL, TRUE_COLOR], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('iTXt', Buffer.from(`Description\0\0\0\0\0${description}`)),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function filteredRows({ width, height, pixels }: Canvas): Buffer {
  const rowBytes = 1 + width * BYTES_PER_PIXEL;
  const rows = Buffer.alloc(rowBytes * height);
  for (let row = 0; row < height; row++) {
    let at = row * rowBytes;
    rows[at++] = FILTER_UP;
    const start = row * width;
    for (let column = 0; column < width; column++) {
      const color = pixels[start + column] as number;
      const above = row === 0 ? 0 : (pixels[start + column - width] as number);
      if (color !== above) {
        rows[at] = (color >> 16) - (above >> 16);
        rows[at + 1] = (color >> 8) - (above >> 8);
        rows[at + 2] = color - above;
      }
      at += BYTES_PER_PIXEL;
    }
  }
  return rows;
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(4 + named.length + 4);
  framed.writeUInt32BE(data.length, 0);
  framed.set(named, 4);
  framed.writeUInt32BE(crc32(named), 4 + named.length);
  return framed;
}
