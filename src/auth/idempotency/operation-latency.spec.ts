import { OperationLatency } from './idempotency.service';

function after(operation: string, ...durationsMs: number[]): number {
  const latency = new OperationLatency();
  for (const durationMs of durationsMs) latency.record(operation, durationMs);
  return latency.medianSeconds(operation);
}

describe('OperationLatency', () => {
  it.each([
    ['createChatCompletion', 2],
    ['createImage', 5],
    ['createSpeech', 2],
  ])('uses the default of %s until it has enough samples: %d s', (operation, seconds) => {
    expect(after(operation)).toBe(seconds);
    expect(after(operation, 9_000, 9_000, 9_000, 9_000)).toBe(seconds);
  });

  it('returns the median in whole seconds, rounded up', () => {
    expect(after('op', 100, 20_000, 3_100, 50, 30_000)).toBe(4);
    expect(after('op', 3_000, 3_000, 3_000, 3_000, 3_000)).toBe(3);
  });

  it('stays within 1 and 30 seconds', () => {
    expect(after('op', 1, 1, 1, 1, 1)).toBe(1);
    expect(after('op', 9e6, 9e6, 9e6, 9e6, 9e6)).toBe(30);
  });

  it('drops old samples', () => {
    expect(after('op', ...Array<number>(63).fill(20_000), ...Array<number>(40).fill(1_000))).toBe(1);
  });

  it('keeps operations apart', () => {
    const latency = new OperationLatency();
    for (let count = 0; count < 5; count++) latency.record('slow', 9_000);
    expect(latency.medianSeconds('other')).toBe(2);
  });
});
