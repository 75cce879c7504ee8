import { randomBytes } from 'node:crypto';
import { toBase64Pieces } from './image-reply';

const PIECE = 768 * 1_024;

describe('toBase64Pieces', () => {
  it.each([1, 2, 3, 4, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 2])(
    'encodes %d bytes like a single base64 string',
    async (length) => {
      const bytes = randomBytes(length);
      expect(Buffer.concat(await toBase64Pieces(bytes)).toString()).toBe(bytes.toString('base64'));
    },
  );

  it('yields to the event loop while it encodes ten large images', async () => {
    const images = Array.from({ length: 10 }, () => Buffer.alloc(4 * 1_048_576, 1));
    let ticks = 0;
    let done = false;
    const countTick = (): void => {
      ticks++;
      if (!done) setImmediate(countTick);
    };
    setImmediate(countTick);
    let pieces = 0;
    for (const bytes of images) pieces += (await toBase64Pieces(bytes)).length;
    done = true;
    expect(pieces).toBe(60);
    expect(ticks).toBeGreaterThanOrEqual(pieces - images.length);
  });
});
