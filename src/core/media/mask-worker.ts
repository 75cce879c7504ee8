/*
 * The process that converts masks for `edit-masks.ts`: the largest takes a second. The gateway has limited the size in
 * the header.
 */
import { inflateSync } from 'node:zlib';
import { convertIndexedToRgb, decode, type DecodedPng, encode } from 'fast-png';
import type { MaskTask } from './edit-masks';
import { serveTasks } from './media-program';
import { PNG_SIGNATURE_BYTES, pngChunksOf, pngHeaderOf } from './png-chunks';

const [BLACK, WHITE] = [0, 255];
/** Other chunks are dropped, because they may decompress to any size. */
const NEEDED_CHUNKS: ReadonlySet<string> = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND']);
/** Encoders write a chunk for 8 KiB of pixels or more, and palettes of at most 256 colors of three bytes. */
const MAX_NEEDED_CHUNKS = 10_000;
const MAX_PALETTE_BYTES = 768;

serveTasks(convert);

/** Returns `null` when the mask is damaged or has no transparent pixel. */
function convert({ bytes, color }: MaskTask): Uint8Array<ArrayBuffer> | null {
  try {
    const image = decode(withoutExtras(Buffer.from(bytes)), { checkCrc: true });
    const { width, height } = image;
    const isEdited = transparencyOf(image);
    const [edited, kept] = color === 'black' ? [BLACK, WHITE] : [WHITE, BLACK];
    const data = new Uint8Array(width * height);
    for (let pixel = 0; pixel < data.length; pixel++) data[pixel] = isEdited(pixel) ? edited : kept;
    return data.includes(edited) ? new Uint8Array(encode({ width, height, data, channels: 1 })) : null;
  } catch {
    return null;
  }
}

/**
 * The mask without needless chunks.
 * @throws RangeError unless it has one header, exactly the pixels that the header announces, and no more chunks and
 *   colors than images need: the decoder obeys every header, decompresses everything, and keeps an object per color.
 */
function withoutExtras(bytes: Buffer): Buffer {
  const frames = [bytes.subarray(0, PNG_SIGNATURE_BYTES)];
  const rows: Buffer[] = [];
  let headers = 0;
  for (const { type, data, frame } of pngChunksOf(bytes)) {
    if (!NEEDED_CHUNKS.has(type)) continue;
    if (type === 'IHDR' && ++headers > 1) throw new RangeError('there are several headers');
    if (type === 'IDAT') rows.push(data);
    else if (data.length > MAX_PALETTE_BYTES) throw new RangeError('there are too many colors');
    if (frames.push(frame) > MAX_NEEDED_CHUNKS) throw new RangeError('there are too many chunks');
  }
  const maxOutputLength = pngHeaderOf(bytes)?.rowsBytes ?? 0;
  const pixels = inflateSync(Buffer.concat(rows), { maxOutputLength });
  if (pixels.length < maxOutputLength) throw new RangeError('pixels are missing');
  return Buffer.concat(frames);
}

/** Tells whether a pixel, counted row by row, is more transparent than opaque. */
function transparencyOf(image: DecodedPng): (pixel: number) => boolean {
  const { channels, depth, palette, transparency } = image;
  if (palette !== undefined) return lowAlphaOf(convertIndexedToRgb(image), palette[0]?.length ?? 0, 8);
  if (transparency === undefined) return lowAlphaOf(image.data, channels, depth);
  if (depth >= 8) {
    return (pixel) => transparency.every((sample, channel) => image.data[channels * pixel + channel] === sample);
  }
  const greys = Array.from({ length: 2 ** depth }, (_, grey) => [0, 0, 0, grey === transparency[0] ? 0 : 255]);
  return lowAlphaOf(convertIndexedToRgb({ ...image, palette: greys }), 4, 8);
}

/** The last of two or four channels is alpha. */
function lowAlphaOf(samples: DecodedPng['data'], channels: number, depth: number): (pixel: number) => boolean {
  if (channels % 2 === 1) return () => false;
  const half = 2 ** (depth - 1);
  return (pixel) => (samples[channels * pixel + channels - 1] ?? half) < half;
}
