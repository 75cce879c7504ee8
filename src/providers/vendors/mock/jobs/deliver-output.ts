import { Readable } from 'node:stream';
import { transportFailure } from '../../../kit/upstream-errors';
import type { CallTimer } from '../call-timer';
import type { Script } from '../script';

const PIECE_BYTES = 65_536;
const SLOW_PIECE_BYTES = 4_096;
const SLOW_DELAY_MS = 1_000;
const WEB_PAGE = Buffer.from('<!doctype html><title>Sign in</title><p>Please sign in to see this file.</p>');

/** How an output is sent. */
export interface Delivery {
  readonly fault: Script['artifact'];
  /** Between two pieces. */
  readonly delayMs: number | undefined;
  readonly timer: CallTimer;
  /** Called when the output has been sent completely. */
  readonly onEnd: () => Promise<void>;
}

/** A file as a response body: in pieces, with the scripted faults. */
export function streamOutput(bytes: Buffer, delivery: Delivery): Readable {
  return Readable.from(piecesOf(bytes, delivery), { objectMode: false, highWaterMark: PIECE_BYTES });
}

async function* piecesOf(
  bytes: Buffer,
  { fault, delayMs, timer, onEnd }: Delivery,
): AsyncGenerator<Buffer, void, void> {
  const file = fault === 'wrong' ? WEB_PAGE : bytes;
  const end = fault === 'broken' ? Math.floor(file.length / 2) : file.length;
  const pieceBytes = fault === 'slow' ? SLOW_PIECE_BYTES : PIECE_BYTES;
  const pauseMs = delayMs ?? (fault === 'slow' ? SLOW_DELAY_MS : 0);
  const pause = () => (pauseMs > 0 ? timer.wait(pauseMs, 'stream') : timer.nextIteration('stream'));
  for (let at = 0; at < end; at += pieceBytes) {
    yield file.subarray(at, Math.min(at + pieceBytes, end));
    await pause();
  }
  if (fault === 'broken') throw transportFailure('stream', new Error('Scripted reset.'));
  if (fault === 'huge') yield* endlessly(pause);
  await onEnd();
}

async function* endlessly(pause: () => Promise<void>): AsyncGenerator<Buffer, void, void> {
  const filler = Buffer.alloc(PIECE_BYTES);
  for (;;) {
    yield filler;
    await pause();
  }
}
