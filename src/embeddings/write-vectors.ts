import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Vector } from '../providers/contract/embeddings';
import type { EncodingFormat } from './dto/embedding-request.dto';

const FLOAT_BYTES = 4;
/** Written in one turn of the event loop: a few milliseconds of work. */
const NUMBERS_PER_TURN = 20_000;

/**
 * The list of embeddings as JSON, in pieces. A full batch holds millions of numbers, so that others get their turn while it
 * is written.
 */
export async function writeVectors(vectors: readonly Vector[], format: EncodingFormat): Promise<Buffer[]> {
  const writeVector = format === 'base64' ? toBase64 : toNumbers;
  const pieces: Buffer[] = [];
  let text = '[';
  let numbers = 0;
  for (const [index, vector] of vectors.entries()) {
    if (numbers > NUMBERS_PER_TURN) {
      pieces.push(Buffer.from(text, 'latin1'));
      text = '';
      numbers = 0;
      await nextTurn();
    }
    text += `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":${writeVector(vector)}}`;
    numbers += vector.length;
  }
  pieces.push(Buffer.from(`${text}]`, 'latin1'));
  return pieces;
}

/** As many digits as it takes to read the same number. */
function toNumbers(vector: Vector): string {
  return JSON.stringify(vector instanceof Float32Array ? Array.from(vector) : vector);
}

/** Little-endian 32-bit floats, which is what clients of the format unpack. */
function toBase64(vector: Vector): string {
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES);
  for (let index = 0; index < vector.length; index++) bytes.writeFloatLE(vector[index] as number, index * FLOAT_BYTES);
  return `"${bytes.toString('base64')}"`;
}
