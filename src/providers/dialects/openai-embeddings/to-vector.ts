import type { Vector } from '../../contract/embeddings';

const FLOAT_BYTES = 4;

/**
 * An embedding as an upstream sends it: a list of numbers, or base64 of little-endian 32-bit floats.
 * @returns `null` for anything else, and for numbers that are none
 */
export function toVector(embedding: unknown): Vector | null {
  if (typeof embedding === 'string') return fromBase64(embedding);
  if (!Array.isArray(embedding) || embedding.length === 0) return null;
  return embedding.every(Number.isFinite) ? (embedding as number[]) : null;
}

function fromBase64(text: string): Float32Array | null {
  const bytes = Buffer.from(text, 'base64');
  // Characters outside the alphabet are skipped by the decoder; then the length does not fit.
  if (bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0 || bytes.length !== decodedLength(text)) return null;
  const vector = new Float32Array(bytes.length / FLOAT_BYTES);
  for (let index = 0; index < vector.length; index++) {
    const value = bytes.readFloatLE(index * FLOAT_BYTES);
    if (!Number.isFinite(value)) return null;
    vector[index] = value;
  }
  return vector;
}

function decodedLength(text: string): number {
  let characters = text.length;
  while (text.charCodeAt(characters - 1) === 0x3d) characters--;
  return Math.floor((characters * 3) / 4);
}
