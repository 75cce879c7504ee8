import { setImmediate as nextTurn } from 'node:timers/promises';

/** Written in one turn of the event loop: a millisecond of work. A multiple of three, so that pieces need no padding. */
const BYTES_PER_TURN = 768 * 1_024;

/** Bytes as base64, in pieces that follow one another. An image may be megabytes, so that others get their turn. */
export async function toBase64Pieces(bytes: Buffer): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += BYTES_PER_TURN) {
    if (start > 0) await nextTurn();
    pieces.push(Buffer.from(bytes.toString('base64', start, start + BYTES_PER_TURN), 'latin1'));
  }
  return pieces;
}
