import { setImmediate as nextTick } from 'node:timers/promises';
import type { StoredResponse } from '../auth/idempotency/idempotency.service';
import type { StoredContent } from '../auth/idempotency/replayed-response';
import type { Bill, RenderedAnswer } from '../inference/inference.types';

const CONTENT_TYPE = 'application/json; charset=utf-8';

/** One image of the response. */
export type ReplyItem = ({ readonly url: string } | InlineImage) & {
  readonly revisedPrompt: string | null;
  /** `WIDTHxHEIGHT`; `null`: unknown. */
  readonly size: string | null;
};

/** An image embedded in the response. */
interface InlineImage {
  readonly bytes: Buffer;
  readonly base64: readonly Buffer[];
}

/** Renders the image response with a gap for its cost. Embedded images come in pieces. */
export function renderImages(items: readonly ReplyItem[], createdSeconds: number, { usage }: Bill): RenderedAnswer {
  const data = items.map(renderItem).join(',');
  const size = commonSizeOf(items);
  const text = `{"created":${createdSeconds},"data":[${data}]${size === null ? '' : `,"size":"${size}"`},"usage":{"images":${usage.images},"x_llm_cost_micro":`;
  const answer = { contentType: CONTENT_TYPE, head: text, tail: '}}' };
  const images = items.filter((item) => 'bytes' in item);
  if (images.length === 0) return answer;
  const base64 = images.map((image) => image.base64);
  const bytes = images.map((image) => image.bytes);
  return { ...answer, head: fillGaps(text, base64), keptHead: packReply(text, bytes) };
}

/** Returns `null` if the sizes differ or one of them is unknown. */
function commonSizeOf([first, ...rest]: readonly ReplyItem[]): string | null {
  return first !== undefined && rest.every(({ size }) => size === first.size) ? first.size : null;
}

function renderItem(item: ReplyItem): string {
  const image = 'url' in item ? `"url":${JSON.stringify(item.url)}` : GAP;
  const { revisedPrompt } = item;
  return revisedPrompt === null ? `{${image}}` : `{${image},"revised_prompt":${JSON.stringify(revisedPrompt)}}`;
}

/** Placeholder for an image. Quotes inside strings are escaped, so no prompt can contain it. */
const GAP = '"b64_json":""';
const LENGTH_BYTES = 4;

/** Fills the gaps of a text; returns pieces. */
function fillGaps(text: string, images: readonly (readonly Buffer[])[]): Buffer[] {
  const pieces: Buffer[] = [];
  const [first = '', ...rest] = text.split(GAP);
  let before = first;
  for (const [index, after] of rest.entries()) {
    pieces.push(Buffer.from(before + GAP.slice(0, -1)), ...(images[index] ?? []));
    before = `"${after}`;
  }
  pieces.push(Buffer.from(before));
  return pieces;
}

/**
 * The stored form of a response with embedded images: the images as bytes, a quarter shorter than base64, then the text
 * with a gap for each of them. Each image is preceded by its length, the text by a length of zero.
 */
function packReply(text: string, images: readonly Buffer[]): Buffer[] {
  return [...images.flatMap((bytes) => [lengthOf(bytes), bytes]), lengthOf(Buffer.alloc(0)), Buffer.from(text)];
}

/** Restores a response stored by {@link packReply}. */
export async function unpackReply({ body, ...stored }: StoredResponse): Promise<StoredContent> {
  const images: Buffer[][] = [];
  let at = 0;
  for (let length = body.readUInt32BE(at); length > 0; length = body.readUInt32BE(at)) {
    at += LENGTH_BYTES;
    images.push(await toBase64Pieces(body.subarray(at, at + length)));
    at += length;
  }
  return { ...stored, body: fillGaps(body.toString('utf8', at + LENGTH_BYTES), images) };
}

function lengthOf({ length }: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES);
  bytes.writeUInt32BE(length);
  return bytes;
}

/** A millisecond of work. A multiple of three, so that pieces need no padding. */
const BYTES_PER_TICK = 768 * 1_024;

/** Encodes bytes as base64 in consecutive pieces, and yields to the event loop in between: images may be megabytes. */
export async function toBase64Pieces(bytes: Buffer): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += BYTES_PER_TICK) {
    if (start > 0) await nextTick();
    pieces.push(Buffer.from(bytes.toString('base64', start, start + BYTES_PER_TICK), 'latin1'));
  }
  return pieces;
}
