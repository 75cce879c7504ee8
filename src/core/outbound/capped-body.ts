import { type Readable, Transform } from 'node:stream';
import { asOutboundError, type OutboundResponse } from './guarded-exchange';
import { OutboundError } from './outbound-error';

/** Each chunk has a cost: after this many, chunks must have this average size. */
const FREE_PIECES = 4_096;
const MIN_AVERAGE_BYTES = 256;

/**
 * The raw body, of at most `maxBytes`. Its connection closes when it ends, fails or is destroyed, even while idle.
 * Errors are `OutboundError`s.
 */
export function cappedBody({ body, close }: OutboundResponse, maxBytes: number): Readable {
  let [bytes, pieces] = [0, 0];
  const capped = new Transform({
    transform(piece: Buffer, _encoding, callback) {
      bytes += piece.length;
      if (bytes > maxBytes) callback(new OutboundError('too-large'));
      else if (++pieces > FREE_PIECES + bytes / MIN_AVERAGE_BYTES) callback(new OutboundError('failed'));
      else callback(null, piece);
    },
  });
  capped.once('close', close);
  // It may fail before the reader starts: the error is delivered when reading starts.
  capped.on('error', () => undefined);
  body.once('error', (error) => capped.destroy(asOutboundError(error)));
  body.pipe(capped);
  return capped;
}
