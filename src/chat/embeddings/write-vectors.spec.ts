import * as fc from 'fast-check';
import { writeVectors } from './embedding-list';

interface Item {
  readonly object: string;
  readonly index: number;
  readonly embedding: number[] | string;
}
const read = (pieces: readonly Buffer[]): Item[] => JSON.parse(Buffer.concat(pieces).toString()) as Item[];
const floats = (base64: unknown): Float32Array =>
  new Float32Array(new Uint8Array(Buffer.from(String(base64), 'base64')).buffer);

describe('writeVectors', () => {
  it('lists the vectors in order', async () => {
    expect(read(await writeVectors([[1, -0.5], Float32Array.of(0.25, 3)], 'float'))).toEqual([
      { object: 'embedding', index: 0, embedding: [1, -0.5] },
      { object: 'embedding', index: 1, embedding: [0.25, 3] },
    ]);
  });

  it('preserves numbers exactly, and 32-bit floats in base64', async () => {
    const value = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e30, max: 1e30 });
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1 }), async (vector) => {
        const [plain] = read(await writeVectors([vector], 'float'));
        expect(plain?.embedding).toEqual(vector.map((each) => each + 0));
        const [packed] = read(await writeVectors([vector], 'base64'));
        expect(floats(packed?.embedding)).toEqual(Float32Array.from(vector));
        const [unpacked] = read(await writeVectors([Float32Array.from(vector)], 'float'));
        expect(Float32Array.from(unpacked?.embedding as number[])).toEqual(
          Float32Array.from(vector).map((each) => each + 0),
        );
      }),
    );
  });

  it('yields to the event loop while it serializes a long list', async () => {
    const vectors = Array.from({ length: 200 }, () => new Float32Array(1_000).fill(0.1));
    let ticks = 0;
    let done = false;
    const countTick = (): void => {
      ticks++;
      if (!done) setImmediate(countTick);
    };
    setImmediate(countTick);
    const pieces = await writeVectors(vectors, 'float');
    done = true;
    expect(pieces.length).toBeGreaterThanOrEqual(9);
    expect(ticks).toBeGreaterThanOrEqual(pieces.length - 1);
    expect(read(pieces)).toHaveLength(200);
  });
});
