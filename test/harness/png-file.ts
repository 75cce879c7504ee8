/** Small PNG files of any kind, valid or not, written byte by byte. */
import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

export interface PngHeader {
  readonly width: number;
  readonly height: number;
  /** Bits of a sample; default 8. */
  readonly depth?: number;
  /** 0 grey, 2 RGB, 3 palette, 4 grey with alpha, 6 RGBA. */
  readonly type: number;
  readonly interlacing?: number;
}

/** @param rows the bytes of each row, without its filter; none: no pixels at all */
export function pngFile(
  { width, height, depth = 8, type, interlacing = 0 }: PngHeader,
  rows: readonly ArrayLike<number>[],
  ...others: readonly Buffer[]
): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, depth, type, 0, 0, interlacing]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const pixels = Buffer.concat(rows.flatMap((row) => [Buffer.from([0]), Uint8Array.from(row)]));
  const data = rows.length === 0 ? [] : [pngChunk('IDAT', deflateSync(pixels))];
  return Buffer.concat([SIGNATURE, pngChunk('IHDR', header), ...others, ...data, pngChunk('IEND')]);
}

export function pngChunk(type: string, data: Uint8Array = Buffer.alloc(0)): Buffer {
  const typed = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, sum]);
}
