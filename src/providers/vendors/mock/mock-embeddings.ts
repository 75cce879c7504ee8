import type { Clock } from '../../../core/time/clock';
import {
  type EmbeddingInput,
  type EmbeddingRequest,
  type EmbeddingResult,
  type EmbeddingsProvider,
  inputsOf,
} from '../../contract/embeddings';
import type { ProviderCall } from '../../contract/provider-call';
import { ProviderError } from '../../contract/provider-error';
import { NO_USAGE } from '../../contract/usage';
import { ScriptedCall } from './scripted-call';
import { hashText, headOf, promptTokensOf, seededNumber } from './conversation';

/** The vector length of the best-known model, so an index made for that model also fits the mock. */
const DIMENSIONS = 1536;
const READ_LENGTH = 2_000;
/** Vector components that each word affects. */
const PLACES_PER_WORD = 8;
/** Small, so that the words dominate. */
const NOISE = 0.02;
const VECTORS_PER_ITERATION = 32;

/**
 * Embeddings without a model: each word affects a few components, so that texts with common words are near each other.
 * The same text always gets the same vector, of length one.
 */
export class MockEmbeddings implements EmbeddingsProvider {
  constructor(private readonly clock: Clock) {}

  assertSupported({ dimensions }: EmbeddingRequest): void {
    if (dimensions == null || dimensions <= DIMENSIONS) return;
    const message = `The mock makes vectors of ${DIMENSIONS} dimensions at most.`;
    throw new ProviderError('validation_failed', message, { phase: 'connect', fallback: false, param: 'dimensions' });
  }

  async embed(request: EmbeddingRequest, call: ProviderCall): Promise<EmbeddingResult> {
    this.assertSupported(request);
    const { input, dimensions } = request;
    // Token ids are used as words.
    const [first = '', ...others] = inputsOf(input).map(String);
    const scripted = new ScriptedCall(first, typeof input === 'string' ? 'input' : 'input[0]', call, this.clock);
    const { delayMs, noUsage, usagePrompt } = scripted.script;
    await scripted.reply(delayMs);
    const vectors: Float32Array[] = [];
    for (const text of [scripted.text, ...others]) {
      if (vectors.length % VECTORS_PER_ITERATION === VECTORS_PER_ITERATION - 1) {
        await scripted.nextIteration('first_token');
      }
      vectors.push(toVector(text, dimensions ?? DIMENSIONS));
    }
    const inputText = usagePrompt ?? tokensOf(input);
    return { vectors, usage: noUsage ? null : { ...NO_USAGE, inputText } };
  }
}

function toVector(text: string, length: number): Float32Array {
  const read = headOf(text, READ_LENGTH).toLowerCase();
  const seed = hashText(read);
  const vector = Float32Array.from({ length }, (_zero, at) => NOISE * (seededNumber(seed + at) - 0.5));
  for (const [word] of read.matchAll(/[\p{L}\p{N}]+/gu)) addWord(vector, hashText(word));
  const norm = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return norm === 0 ? vector.fill(1 / Math.sqrt(length)) : vector.map((value) => value / norm);
}

/** A shorter vector maps the same words to fewer components. */
function addWord(vector: Float32Array, hash: number): void {
  for (let place = 0; place < PLACES_PER_WORD; place++) {
    const at = Math.floor(seededNumber(hash + place) * vector.length);
    vector[at] = (vector[at] ?? 0) + (seededNumber(hash - place - 1) < 0.5 ? -1 : 1);
  }
}

function tokensOf(input: EmbeddingInput): number {
  const counts = inputsOf(input).map((item) => (typeof item === 'string' ? promptTokensOf([item]) : item.length));
  return counts.reduce((sum, count) => sum + count, 0);
}
