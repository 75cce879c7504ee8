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
import { CallTimer } from './call-timer';
import { hashText, seededNumber } from './random';
import { readScript, type Script } from './script';
import { waitForReply } from './scripted-fault';
import { headOf } from './tokens';

/** As long as those of the best known model, so that an index for one fits the other. */
const DIMENSIONS = 1536;
const TOKENS_PER_BYTE = 0.25;
/** Characters read of a long text. */
const READ_LENGTH = 2_000;
/** Vector components that each word affects. */
const PLACES_PER_WORD = 8;
/** Noise is small, so that the words dominate. */
const NOISE = 0.02;
/** Vectors made per iteration of the event loop. */
const VECTORS_PER_ITERATION = 32;
const WORD = /[\p{L}\p{N}]+/gu;

/**
 * Embeddings without a model: each word affects a few components, so that texts with common words are near each other.
 * The same text always gets the same vector, of length one.
 */
export class MockEmbeddings implements EmbeddingsProvider {
  constructor(private readonly clock: Clock) {}

  assertSupported({ dimensions }: EmbeddingRequest): void {
    if (dimensions != null && dimensions > DIMENSIONS) throw tooManyDimensions();
  }

  async embed(request: EmbeddingRequest, call: ProviderCall): Promise<EmbeddingResult> {
    const timer = new CallTimer(call, this.clock);
    timer.check('headers');
    this.assertSupported(request);
    const { input, dimensions } = request;
    const length = dimensions ?? DIMENSIONS;
    const { script, texts } = readInput(input);
    await waitForReply(script, timer, this.clock, script.delayMs ?? 0);
    const vectors: Float32Array[] = [];
    for (const text of texts) {
      if (vectors.length % VECTORS_PER_ITERATION === VECTORS_PER_ITERATION - 1)
        await timer.nextIteration('first_token');
      vectors.push(toVector(text, length));
    }
    const inputText = script.usagePrompt ?? tokensOf(input);
    return { vectors, usage: script.noUsage === true ? null : { ...NO_USAGE, inputText } };
  }
}

/** The texts to embed, and the script in the first of them. Token ids are used as words. */
function readInput(input: EmbeddingInput): { readonly script: Script; readonly texts: readonly string[] } {
  const [first = '', ...others] = inputsOf(input).map(String);
  const { script, text } = readScript(first, typeof input === 'string' ? 'input' : 'input[0]');
  return { script, texts: [text, ...others] };
}

function toVector(text: string, length: number): Float32Array {
  const read = headOf(text, READ_LENGTH).toLowerCase();
  const seed = hashText(read);
  const vector = Float32Array.from({ length }, (_zero, at) => NOISE * (seededNumber(seed + at) - 0.5));
  for (const [word] of read.matchAll(WORD)) addWord(vector, hashText(word));
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
  return inputsOf(input).reduce((sum, item) => {
    return sum + (typeof item === 'string' ? Math.ceil(Buffer.byteLength(item) * TOKENS_PER_BYTE) : item.length);
  }, 0);
}

function tooManyDimensions(): ProviderError {
  const message = `The mock makes vectors of ${DIMENSIONS} dimensions at most.`;
  return new ProviderError('validation_failed', message, { phase: 'connect', fallback: false, param: 'dimensions' });
}
