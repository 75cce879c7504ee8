import { RepeatGuard } from './repeat-guard';

let nowMs: number;
let repeats: RepeatGuard;

beforeEach(() => {
  nowMs = 0;
  repeats = new RepeatGuard({ monotonic: () => nowMs });
});

it('logs a lasting failure once in ten minutes', () => {
  const logged: number[] = [];
  for (; nowMs <= 1_200_000; nowMs += 5_000) if (repeats.admit('job-1', 'timeout')) logged.push(nowMs);
  expect(logged).toEqual([0, 600_000, 1_200_000]);
});

it('logs a different cause, or the same cause for another object, at once', () => {
  expect([repeats.admit('job-1', 'timeout'), repeats.admit('job-1', 'refused')]).toEqual([true, true]);
  expect([repeats.admit('job-2', 'timeout'), repeats.admit('job-1', 'refused')]).toEqual([true, false]);
});
