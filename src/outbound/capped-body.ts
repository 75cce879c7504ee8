import { type Readable, Transform } from 'node:stream';
import { asOutboundError, type OutboundResponse } from './guarded-exchange';
import { OutboundError } from './outbound-error';

/** Each piece costs time and memory of its own: beyond these, pieces must have so many bytes on average. */
const FREE_PIECES = 4_096;
const MIN_AVERAGE_BYTES = 256;

/**
 * The body as it comes over the wire, of at most `maxBytes`. Its connection closes when it ends, breaks off or is
 * destroyed, also in the middle of a silence. Errors are `OutboundError`s.
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
  // It may break off while its reader prepares: who begins then is told, and until then nobody is.
  capped.on('error', () => undefined);
  body.once('error', (error) => capped.destroy(asOutboundError(error)));
  body.pipe(capped);
  return capped;
}
