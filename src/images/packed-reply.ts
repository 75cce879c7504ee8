/**
 * The stored form of a response with embedded images: the images as bytes, a quarter shorter than base64, then the text with
 * a gap for each of them. Each image is preceded by its length, the text by a length of zero.
 */
import type { StoredAnswer } from '../auth/idempotency/idempotency.service';
import type { StoredContent } from '../auth/idempotency/replayed-response';
import { toBase64Pieces } from './base64-pieces';

/** Placeholder for an image. Quotes inside strings are escaped, so no prompt can contain it. */
export const GAP = '"b64_json":""';
const LENGTH_BYTES = 4;

/** Fills the gaps of a text; returns pieces. */
export function fillGaps(text: string, images: readonly (readonly Buffer[])[]): Buffer[] {
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

export function packReply(text: string, images: readonly Buffer[]): Buffer[] {
  return [...images.flatMap((bytes) => [lengthOf(bytes), bytes]), lengthOf(Buffer.alloc(0)), Buffer.from(text)];
}

/** Restores a response stored by {@link packReply}. */
export async function unpackReply({ body, ...stored }: StoredAnswer): Promise<StoredContent> {
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
