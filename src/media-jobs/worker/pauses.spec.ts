import type { JobCapabilities } from '../../providers/contract/media-job';
import { pollPauseMs, submitPauseMs } from './pauses';

const capabilities = { pollMs: [2_000, 30_000] } as Partial<JobCapabilities> as JobCapabilities;
const middle = (): number => 0.5;

describe('pollPauseMs', () => {
  it('starts at the shortest pause of the provider and grows by half up to its longest', () => {
    const pauses = [0, 1, 2, 3, 6, 7, 1_000_000].map((polls) => pollPauseMs(capabilities, polls, undefined, middle));
    expect(pauses).toEqual([2_000, 3_000, 4_500, 6_750, 22_781.25, 30_000, 30_000]);
  });

  it('applies 10 percent jitter', () => {
    expect([0, 1].map((random) => pollPauseMs(capabilities, 0, undefined, () => random))).toEqual([1_800, 2_200]);
  });

  it.each([
    [12_345, 12_345],
    [86_400_000, 600_000],
    [0, 2_000],
    [-1, 2_000],
    [Number.NaN, 2_000],
  ])('limits the pause that the provider requests: %d becomes %d', (asked, pause) => {
    expect(pollPauseMs(capabilities, 0, asked, middle)).toBe(pause);
  });
});

describe('submitPauseMs', () => {
  it('grows from a second to a minute', () => {
    expect([0, 1, 2, 50].map((attempts) => submitPauseMs(attempts, undefined, middle))).toEqual([
      1_000, 1_500, 2_250, 60_000,
    ]);
  });

  it('uses the requested pause, up to ten minutes', () => {
    expect([40, 3_600].map((seconds) => submitPauseMs(0, seconds, middle))).toEqual([40_000, 600_000]);
  });
});
