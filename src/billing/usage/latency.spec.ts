import * as fc from 'fast-check';
import { latencyOf, NO_LATENCIES, readLatencies, STEP_BOUNDS_MS, sumLatencies } from './latency';

const FIRST_TOKEN = 128;
const durations = fc.array(fc.integer({ min: 1, max: 2 ** 24 - 1 }), { minLength: 1, maxLength: 200 });

describe('latency counters', () => {
  it('give quantiles within 9 % of the exact ones', () => {
    fc.assert(
      fc.property(durations, (exact) => {
        const sorted = exact.toSorted((left, right) => left - right);
        const { total, firstToken } = latencyOf(countersOf(exact));
        expect(firstToken).toBeNull();
        for (const [quantile, part] of [
          [total?.p50, 0.5],
          [total?.p95, 0.95],
        ] as const) {
          const real = sorted[Math.ceil(exact.length * part) - 1] as number;
          expect(Math.abs((quantile ?? 0) - real) / real).toBeLessThanOrEqual(0.09);
        }
      }),
    );
  });

  it('are exact below 32 ms, and count what lasts longer than 4.6 hours as that', () => {
    for (const ms of [0, 1, 7, 31]) expect(latencyOf(countersOf([ms])).total).toEqual({ p50: ms, p95: ms });
    expect(latencyOf(countersOf([2 ** 30])).total?.p50).toBe(2 ** 24);
  });

  it('keep total times and times to the first token apart', () => {
    const both = sumLatencies([countersOf([20]), countersOf([5, 6], FIRST_TOKEN)]);
    expect(latencyOf(both)).toEqual({ firstToken: { p50: 5, p95: 6 }, total: { p50: 20, p95: 20 } });
  });

  it('of a sum are those of all its requests, in whatever order and however split', () => {
    fc.assert(
      fc.property(durations, durations, (one, other) => {
        const all = latencyOf(countersOf([...one, ...other]));
        expect(latencyOf(sumLatencies([countersOf(one), countersOf(other)]))).toEqual(all);
        expect(latencyOf(sumLatencies([countersOf(other), NO_LATENCIES, countersOf(one)]))).toEqual(all);
      }),
    );
  });

  it('count more requests than 32 bits can', () => {
    const many = 2 ** 40;
    const counters = readLatencies(`${many * 256 + 3},${many * 256 + 5},${256 + 3}`);
    expect(latencyOf(counters).total).toEqual({ p50: 3, p95: 5 });
  });

  it('are null without requests', () => {
    expect(latencyOf(readLatencies(''))).toEqual({ firstToken: null, total: null });
    expect(sumLatencies([NO_LATENCIES, NO_LATENCIES])).toBe(NO_LATENCIES);
  });
});

/** As the database counts them: one element for each request. */
function countersOf(durationsMs: readonly number[], offset = 0) {
  const elements = durationsMs.map((ms) => 256 + offset + STEP_BOUNDS_MS.filter((bound) => bound <= ms).length);
  return readLatencies(elements.join(','));
}
