import { DelayedError, type Job } from 'bullmq';
import type { QueueConnection } from './queue-connection';
import { WakeUpProcessor } from './wake-up-processor';
import type { WakeUp } from './wake-up-queue';

const NOW_MS = 10_100;

class TestProcessor extends WakeUpProcessor {
  constructor(private readonly againInMs: number) {
    super({} as QueueConnection, { now: () => NOW_MS, monotonic: () => 0 });
  }

  protected handle(): Promise<number> {
    return Promise.resolve(this.againInMs);
  }
}

describe('WakeUpProcessor', () => {
  it.each([
    [2_000, 12_250],
    [2_149, 12_250],
    [2_150, 12_250],
    [2_151, 12_500],
    [249, 10_349],
    [0, 10_100],
  ])(
    'wakes rows of the same quarter of a second together, none before it is due: in %p ms, at %p',
    async (inMs, at) => {
      const times: number[] = [];
      const entry = { moveToDelayed: (time: number) => (times.push(time), Promise.resolve()) };
      const processed = new TestProcessor(inMs).process(entry as unknown as Job<WakeUp>);
      await expect(processed).rejects.toThrow(DelayedError);
      expect(times).toEqual([at]);
    },
  );
});
