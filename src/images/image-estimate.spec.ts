import type { Candidate } from '../inference/inference.types';
import { NO_USAGE, type UsageVector } from '../providers/contract/usage';
import { estimateImages, type ImageOrder } from './image-order';

const candidate = (isByTokens: boolean, imagesPerCall?: number): Candidate =>
  ({ price: { isByTokens }, quirks: { imagesPerCall } }) as Candidate;
const estimate = (order: Partial<ImageOrder>, count: number, ...candidates: readonly Candidate[]): UsageVector =>
  estimateImages(
    { prompt: 'x'.repeat(40), size: null, quality: null, sources: [], mask: null, ...order } as ImageOrder,
    count,
    candidates,
    0.25,
  );

describe('estimateImages', () => {
  it('counts only images when no candidate charges by tokens', () => {
    expect(estimate({}, 3, candidate(false), candidate(false, 1))).toEqual({ ...NO_USAGE, images: 3 });
  });

  it.each([
    ['1024x1024', 'low', 272],
    ['1024x1536', 'low', 408],
    ['1024x1024', 'medium', 1_056],
    ['1536x1024', 'medium', 1_584],
    ['1024x1024', 'high', 4_160],
    ['1536x1024', 'high', 6_240],
    ['1536x1024', 'auto', 6_240],
    [null, null, 6_240],
  ])('counts the documented tokens for %s at %s', (size, quality, tokens) => {
    expect(estimate({ size, quality }, 2, candidate(true))).toEqual({
      ...NO_USAGE,
      inputText: 10,
      outputImage: 2 * tokens,
      images: 2,
    });
  });

  it('counts prompt and input images once per call, for the candidate with the fewest images per call', () => {
    const source = { param: 'image', url: 'https://files.example/a.png' };
    const mask = { bytes: Buffer.alloc(1), contentType: 'image/png' } as const;
    const { inputText, inputImage } = estimate(
      { sources: [source, source], mask },
      7,
      candidate(false),
      candidate(true, 3),
    );
    expect([inputText, inputImage]).toEqual([3 * 10, 3 * 3 * 6_240]);
  });
});
