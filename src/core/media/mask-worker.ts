/*
 * The thread that converts masks for `edit-masks.ts`, one per message: the largest takes a second. Its owner has limited
 * the size in the header.
 */
import { parentPort } from 'node:worker_threads';
import { inflateSync } from 'node:zlib';
import { convertIndexedToRgb, decode, type DecodedPng, encode } from 'fast-png';
import type { MaskTask } from './edit-masks';
import { PNG_SIGNATURE_BYTES, pngChunksOf, pngHeaderOf } from './png-chunks';

const [BLACK, WHITE] = [0, 255];
/** Others may decompress to anything. */
const NEEDED_CHUNKS: ReadonlySet<string> = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND']);

parentPort?.on('message', (task: MaskTask) => {
  const outcome = convert(task);
  parentPort?.postMessage(outcome, outcome === null ? [] : [outcome.buffer]);
});

/** `null`: the mask is damaged, or nowhere transparent. */
function convert({ bytes, color }: MaskTask): Uint8Array<ArrayBuffer> | null {
  try {
    const image = decode(withoutExtras(Buffer.from(bytes.buffer)), { checkCrc: true });
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
 * @throws RangeError unless it has one header, and exactly the pixels that it announces: the decoder obeys every header and
 *   decompresses all there is.
 */
function withoutExtras(bytes: Buffer): Buffer {
  const chunks = pngChunksOf(bytes).filter(({ type }) => NEEDED_CHUNKS.has(type));
  if (chunks.filter(({ type }) => type === 'IHDR').length !== 1) throw new RangeError('there are several headers');
  const rows = Buffer.concat(chunks.flatMap(({ type, data }) => (type === 'IDAT' ? [data] : [])));
  const maxOutputLength = pngHeaderOf(bytes)?.rowsBytes ?? 0;
  if (inflateSync(rows, { maxOutputLength }).length < maxOutputLength) throw new RangeError('pixels are missing');
  return Buffer.concat([bytes.subarray(0, PNG_SIGNATURE_BYTES), ...chunks.map(({ frame }) => frame)]);
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
