import { setImmediate as nextTick } from 'node:timers/promises';
import type { Bill, RenderedAnswer } from '../../inference/inference.types';
import type { Vector } from '../../providers/contract/embeddings';
import { inputTokensOf } from '../../providers/contract/usage';
import type { EncodingFormat } from './dto/embedding-request.dto';

/** The response with a gap for its cost, from the list serialized by `writeVectors`. */
export function renderEmbeddingList(list: readonly Buffer[], model: string, bill: Bill): RenderedAnswer {
  const { usage, usageEstimated } = bill;
  const tokens = inputTokensOf(usage);
  const counts = JSON.stringify({
    prompt_tokens: tokens,
    total_tokens: tokens,
    ...(usageEstimated && { x_llm_usage_estimated: true }),
  });
  const end = `,"model":${JSON.stringify(model)},"usage":${counts.slice(0, -1)},"x_llm_cost_micro":`;
  const pieces = [Buffer.from('{"object":"list","data":'), ...list, Buffer.from(end)];
  return {
    contentType: 'application/json; charset=utf-8',
    head: list.length === 1 ? Buffer.concat(pieces) : pieces,
    tail: '}}',
  };
}

const FLOAT_BYTES = 4;
/** A few milliseconds of work. */
const NUMBERS_PER_TICK = 20_000;

/**
 * Serializes embeddings as a JSON list, in pieces, and yields to the event loop in between: a full batch has millions
 * of numbers.
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

/** Prints the shortest decimals that parse to the same number. */
function toNumbers(vector: Vector): string {
  return JSON.stringify(vector instanceof Float32Array ? Array.from(vector) : vector);
}

/** Little-endian 32-bit floats, as official clients expect. */
function toBase64(vector: Vector): string {
  const bytes = Buffer.allocUnsafe(vector.length * FLOAT_BYTES);
  for (let index = 0; index < vector.length; index++) bytes.writeFloatLE(vector[index] as number, index * FLOAT_BYTES);
  return `"${bytes.toString('base64')}"`;
}
