import type { Vector } from '../../contract/embeddings';
import { decodeBase64 } from '../../kit/base64';

const FLOAT_BYTES = 4;

/**
 * An embedding as an upstream sends it: a list of numbers, or base64 of little-endian 32-bit floats.
 * @returns `null` for anything else, and for NaN or infinity
 */
export function toVector(embedding: unknown): Vector | null {
  if (typeof embedding === 'string') return fromBase64(embedding);
  if (!Array.isArray(embedding) || embedding.length === 0) return null;
  return embedding.every(Number.isFinite) ? (embedding as number[]) : null;
}

function fromBase64(text: string): Float32Array | null {
  const bytes = decodeBase64(text);
  if (bytes === null || bytes.length % FLOAT_BYTES !== 0) return null;
  const vector = new Float32Array(bytes.length / FLOAT_BYTES);
  for (let index = 0; index < vector.length; index++) {
    const value = bytes.readFloatLE(index * FLOAT_BYTES);
    if (!Number.isFinite(value)) return null;
    vector[index] = value;
  }
  return vector;
}
