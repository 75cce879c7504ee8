import { Metrics } from '../../core/observability/metrics/catalogue';
import type { LimitCall, LimitReply } from './limit-call';
import type { LimitConnection } from './limit-connection';
import { LimitQueue } from './limit-queue';
import { planOf } from './limit-check';

const PLAN = planOf([{ scope: 'key', kind: 'concurrency', limit: 1, redisKey: 'slots', windowMs: 0 }]);

describe('the queue of requests to check', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('recovers after an outage when a later request sends the pending releases', async () => {
    let away = true;
    const run = async ({ requestCount }: LimitCall): Promise<LimitReply> => {
      if (away) throw new Error('unavailable');
      return { nowMs: 0, results: Array.from({ length: requestCount }, () => [0, 0, 0, 0]) };
    };
    const queue = new LimitQueue({ runScript: run } as unknown as LimitConnection, 30_000, new Metrics());
    const judge = async (member: string): Promise<number> => {
      const verdict = queue.judge({ member, plan: PLAN, tokens: 1 });
      const settled = verdict.then(({ refusedBy }) => refusedBy);
      settled.catch(() => undefined);
      await jest.advanceTimersByTimeAsync(1);
      return settled;
    };

    await expect(judge('a')).rejects.toThrow('unavailable');
    away = false;
    expect(await judge('b')).toBe(0);
    // The release retry fires when nothing is left to send.
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await judge('c')).toBe(0);
  });
});
