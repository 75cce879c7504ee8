import { setImmediate as nextIteration } from 'node:timers/promises';
import { Metrics } from '../../core/observability/metrics/catalogue';
import type { LimitCall, LimitReply } from './limit-call';
import type { LimitConnection } from './limit-connection';
import { LimitQueue } from './limit-queue';
import { planOf } from './limit-check';

const PLAN = planOf([{ scope: 'key', kind: 'concurrency', limit: 1, redisKey: 'slots', windowMs: 0 }]);

describe('the queue of requests to check', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate'] }));
  afterEach(() => jest.useRealTimers());

  it('checks requests of several event loop iterations in one call', async () => {
    const counts: number[] = [];
    const run = ({ requestCount }: LimitCall): Promise<LimitReply> => {
      counts.push(requestCount);
      return Promise.resolve({ nowMs: 0, results: Array.from({ length: requestCount }, () => [0, 0, 0, 0]) });
    };
    const queue = new LimitQueue({ runScript: run } as unknown as LimitConnection, 30_000, new Metrics());
    const first = queue.judge({ member: 'a', plan: PLAN, tokens: 1 });
    await nextIteration();
    await Promise.all([first, queue.judge({ member: 'b', plan: PLAN, tokens: 1 })]);
    expect(counts).toEqual([2]);
  });

  it('recovers after an outage when a later request sends the pending releases', async () => {
    let away = true;
    const run = async ({ requestCount }: LimitCall): Promise<LimitReply> => {
      if (away) throw new Error('unavailable');
      return { nowMs: 0, results: Array.from({ length: requestCount }, () => [0, 0, 0, 0]) };
    };
    const queue = new LimitQueue({ runScript: run } as unknown as LimitConnection, 30_000, new Metrics());
    const judge = async (member: string): Promise<number> => {
      const { refusedBy } = await queue.judge({ member, plan: PLAN, tokens: 1 });
      return refusedBy;
    };

    await expect(judge('a')).rejects.toThrow('unavailable');
    away = false;
    expect(await judge('b')).toBe(0);
    // The release retry fires when nothing is left to send.
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await judge('c')).toBe(0);
  });
});
