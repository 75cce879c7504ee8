import type { Candidate } from '../inference/inference.types';
import { promptTokens } from '../inference/token-estimate';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import type { ImageOrder } from './image-order';

/** Output tokens of GPT Image models for 1,024 × 1,024 pixels; other sizes scale in proportion. */
const TOKENS_PER_SQUARE: Readonly<Record<string, number>> = { low: 272, medium: 1_056, high: 4_160 };
const SQUARE_PIXELS = 1_024 * 1_024;
/** The largest common size, for requests without one. */
const DEFAULT_PIXELS = 1_536 * 1_024;
/** Most tokens that these models count for an input image. */
const TOKENS_PER_SOURCE = 6_240;

/**
 * The expected usage of an order: `count` images, and their tokens where a candidate charges by tokens. A candidate that
 * makes fewer images per call reads the prompt more often.
 */
export function estimateImages(
  order: ImageOrder,
  count: number,
  candidates: readonly Candidate[],
  tokensPerByte: number,
): UsageVector {
  if (!candidates.some(({ price }) => price.isByTokens)) return { ...NO_USAGE, images: count };
  const calls = Math.max(...candidates.map((candidate) => callsFor(count, candidate)));
  const textBytes = Buffer.byteLength(order.prompt);
  const shown = order.sources.length + (order.mask === null ? 0 : 1);
  return {
    ...NO_USAGE,
    inputText: calls * promptTokens({ textBytes, fixedTokens: 0 }, tokensPerByte),
    inputImage: calls * shown * TOKENS_PER_SOURCE,
    outputImage: count * drawnTokens(order),
    images: count,
  };
}

/** Number of calls that a candidate needs for `count` images. */
export function callsFor(count: number, { quirks }: Pick<Candidate, 'quirks'>): number {
  return Math.ceil(count / (quirks.imagesPerCall ?? count));
}

function drawnTokens({ size, quality }: ImageOrder): number {
  const perSquare = TOKENS_PER_SQUARE[quality ?? ''] ?? Math.max(...Object.values(TOKENS_PER_SQUARE));
  const [width, height] = (size ?? '').split('x').map(Number);
  const pixels = width !== undefined && height !== undefined ? width * height : DEFAULT_PIXELS;
  return Math.ceil((perSquare * pixels) / SQUARE_PIXELS);
}
