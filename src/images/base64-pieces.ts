import { setImmediate as nextTick } from 'node:timers/promises';

/** Encoded per event-loop tick: a millisecond of work. A multiple of three, so that pieces need no padding. */
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
