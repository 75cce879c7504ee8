import { setImmediate as nextTick } from 'node:timers/promises';
import type { Vector } from '../../providers/contract/embeddings';
import type { EncodingFormat } from './dto/embedding-request.dto';

const FLOAT_BYTES = 4;
/** Serialized per event-loop tick: a few milliseconds of work. */
const NUMBERS_PER_TICK = 20_000;

/**
 * Serializes embeddings as a JSON list, in pieces, and yields to the event loop in between: a full batch has millions of
 * numbers.
 */
export async function writeVectors(vectors: readonly Vector[], format: EncodingFormat): Promise<Buffer[]> {
  const writeVector = format === 'base64' ? toBase64 : toNumbers;
  const pieces: Buffer[] = [];
  let text = '[';
  let numbers = 0;
  for (const [index, vector] of vectors.entries()) {
    if (numbers > NUMBERS_PER_TICK) {
      pieces.push(Buffer.from(text, 'latin1'));
      text = '';
      numbers = 0;
      await nextTick();
    }
    text += `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":${writeVector(vector)}}`;
    numbers += vector.length;
  }
  pieces.push(Buffer.from(`${text}]`, 'latin1'));
  return pieces;
}

/** Shortest digits that parse to the same number. */
function toNumbers(vector: Vector): string {
  return JSON.stringify(vector instanceof Float32Array ? Array.from(vector) : vector);
}

/** Little-endian 32-bit floats, as official clients expect. */
function toBase64(vector: Vector): string {
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES);
  for (let index = 0; index < vector.length; index++) bytes.writeFloatLE(vector[index] as number, index * FLOAT_BYTES);
  return `"${bytes.toString('base64')}"`;
}
