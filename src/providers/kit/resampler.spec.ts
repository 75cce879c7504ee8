import { Resampler } from './resampler';

const LOUD = 10_000;

/** A second of a tone. */
const tone = (rateHz: number, hertz: number): Int16Array =>
  Int16Array.from({ length: rateHz }, (_, index) =>
    Math.round(LOUD * Math.sin((2 * Math.PI * hertz * index) / rateHz)),
  );

/** In pieces whose size has no common divisor with any rate. */
function resample(samples: Int16Array, fromHz: number, toHz: number): number[] {
  const resampler = new Resampler(fromHz, toHz);
  const output: number[] = [];
  for (let at = 0; at < samples.length; at += 997) output.push(...resampler.push(samples.subarray(at, at + 997)));
  return [...output, ...resampler.end()];
}

/** Largest difference beyond the edges, where the tone begins and ends abruptly. */
const difference = (one: readonly number[], other: Int16Array): number =>
  Math.max(...one.map((value, index) => Math.abs(value - (other[index] ?? 0))).slice(100, -100));

describe('Resampler', () => {
  it.each([8_000, 16_000, 22_050, 32_000, 44_100, 48_000])(
    'keeps a tone, its duration and its phase from %i Hz',
    (rateHz) => {
      const output = resample(tone(rateHz, 1_000), rateHz, 24_000);
      expect(output.length).toBe(24_000);
      expect(difference(output, tone(24_000, 1_000))).toBeLessThan(LOUD / 100);
    },
  );

  it.each([14_000, 18_000, 22_000])('filters out a tone of %i Hz, which would become an alias', (hertz) => {
    const output = resample(tone(48_000, hertz), 48_000, 24_000);
    expect(difference(output, new Int16Array(24_000))).toBeLessThan(LOUD / 100);
  });

  it('does not overflow', () => {
    const loud = Int16Array.from({ length: 4_800 }, (_, index) => (index % 48 < 24 ? 32_767 : -32_768));
    const output = resample(loud, 48_000, 24_000);
    const [high, low] = [output.filter((_, index) => index % 24 < 12), output.filter((_, index) => index % 24 >= 12)];
    // The filter overshoots at the edges, where a sample beyond the range would become one of the other sign.
    expect([Math.max(...high), Math.min(...low)]).toEqual([32_767, -32_768]);
    expect([Math.min(...high) > -17_000, Math.max(...low) < 17_000]).toEqual([true, true]);
  });
});
