import { promisify } from 'node:util';
import { constants, crc32, deflate } from 'node:zlib';
import { imageSize } from 'image-size';
import type { ImageFile } from '../../../contract/images';
import { hashText, seededNumber } from '../random';

const deflateAsync = promisify(deflate);

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Eight bits for each pixel, which are an index into the palette. */
const INDEXED_COLOR = [8, 3];
/** Rows are the difference to the row above, mostly zeros. */
const FILTER_UP = 2;
const TILES = 8;
const COLORS = 6;

/** A PNG of colored tiles, symmetric and derived from the description, which is also stored in the file as text. */
export async function drawPng(description: string, width: number, height: number): Promise<Buffer> {
  const seed = hashText(description);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(INDEXED_COLOR, 8);
  const palette = Buffer.from(Array.from({ length: COLORS * 3 }, (_, at) => 40 + 200 * seededNumber(seed - 1 - at)));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('iTXt', Buffer.from(`Description\0\0\0\0\0${description}`)),
    chunk('IDAT', await deflateAsync(tiledRows(seed, width, height), { level: constants.Z_BEST_SPEED })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function tiledRows(seed: number, width: number, height: number): Buffer {
  const rows = Buffer.alloc((width + 1) * height);
  let above = Buffer.alloc(width);
  for (let y = 0; y < height; y++) {
    const start = y * (width + 1);
    rows[start] = FILTER_UP;
    const tileRow = Math.floor((y * TILES) / height);
    if (y > 0 && tileRow === Math.floor(((y - 1) * TILES) / height)) continue;
    const row = Buffer.from(Array.from({ length: width }, (_, x) => colorAt(seed, tileRow, (x * TILES) / width)));
    for (let x = 0; x < width; x++) rows[start + 1 + x] = (row[x] ?? 0) - (above[x] ?? 0);
    above = row;
  }
  return rows;
}

function colorAt(seed: number, tileRow: number, column: number): number {
  const mirrored = Math.floor(Math.min(column, TILES - column));
  return Math.floor(COLORS * seededNumber(seed + tileRow * TILES + mirrored));
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(4 + named.length + 4);
  framed.writeUInt32BE(data.length, 0);
  framed.set(named, 4);
  framed.writeUInt32BE(crc32(named), 4 + named.length);
  return framed;
}

/** Describes the input images of a request, in a few words for each kind; empty without images. */
export function describeInputs(images: readonly ImageFile[], mask: ImageFile | null): string[] {
  const [first] = images;
  if (first === undefined) return [];
  const others = images.length === 1 ? '' : ` and ${images.length - 1} more`;
  return [`from ${describe(first)}${others}${mask === null ? '' : `, masked by ${describe(mask)}`}`];
}

function describe({ bytes, contentType }: ImageFile): string {
  const type = contentType.replace('image/', '').toUpperCase();
  try {
    const { width, height } = imageSize(bytes);
    return `a ${type} of ${width}x${height}`;
  } catch {
    return `a ${type}`;
  }
}
