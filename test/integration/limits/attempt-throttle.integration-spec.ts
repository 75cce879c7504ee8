import { Logger } from '@nestjs/common';
import type { AttemptLog } from '../../../src/auth/rate-limits/attempt-log';
import { AttemptThrottle } from '../../../src/auth/rate-limits/attempt-throttle';
import { createRedisClient, type RedisClient } from '../../../src/core/redis/redis-client';
import { PATIENCE_MS } from '../../harness/database';
import { createTestRedis, untilReady } from '../../harness/redis';
import { redisServersOf } from '../../harness/servers';

Logger.overrideLogger(false);

const WINDOW_MS = 60_000;

class StillClock {
  nowMs = 1_800_000_000_000;
  now = () => this.nowMs;
  monotonic = () => this.nowMs;
}

const away = {
  eval: () => Promise.reject(new Error('unavailable')),
  zrem: () => Promise.reject(new Error('unavailable')),
  zremrangebyscore: () => Promise.reject(new Error('unavailable')),
};

describe('the throttle of attempts', () => {
  const { url, keyPrefix } = createTestRedis();
  let redis: RedisClient;
  let logs = 0;

  beforeAll(async () => {
    redis = createRedisClient(url, redisServersOf(url), { keyPrefix, commandTimeout: PATIENCE_MS });
    await untilReady(redis);
  });
  afterAll(() => redis.quit());

  const newLog = (limit: number): AttemptLog => ({ key: `attempts:${logs++}`, limit, windowMs: WINDOW_MS });
  const outcomes = async (attempts: Promise<unknown>[]) => {
    const settled = await Promise.allSettled(attempts);
    return {
      made: settled.filter(({ status }) => status === 'fulfilled').length,
      waits: settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.retryAfterSeconds] : [])),
    };
  };

  describe.each([
    ['shared through Redis', () => redis],
    ['of one process, during a Redis outage', () => away as unknown as RedisClient],
  ])('%s', (_name, store) => {
    it('admits exactly as many as the limit allows, and gives the others the time of the next one', async () => {
      const clock = new StillClock();
      const throttle = new AttemptThrottle(store(), clock);
      const log = newLog(10);
      const first = await outcomes(Array.from({ length: 4 }, () => throttle.take([log])));
      clock.nowMs += 20_000;
      const then = await outcomes(Array.from({ length: 50 }, () => throttle.take([log])));
      expect([first.made, then.made]).toEqual([4, 6]);
      expect(new Set(then.waits)).toEqual(new Set([40]));
      clock.nowMs += 39_999;
      await expect(throttle.take([log])).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 1 });
      clock.nowMs += 1;
      await expect(outcomes(Array.from({ length: 9 }, () => throttle.take([log])))).resolves.toMatchObject({ made: 4 });
    });

    it('counts an attempt in every log or in none', async () => {
      const throttle = new AttemptThrottle(store(), new StillClock());
      const [narrow, wide] = [newLog(1), newLog(3)];
      await throttle.take([narrow, wide]);
      await outcomes(Array.from({ length: 5 }, () => throttle.take([narrow, wide])));
      await expect(outcomes(Array.from({ length: 5 }, () => throttle.take([wide])))).resolves.toMatchObject({
        made: 2,
      });
    });

    it('does not count a withdrawn attempt, nor those before a success', async () => {
      const clock = new StillClock();
      const throttle = new AttemptThrottle(store(), clock);
      const log = newLog(2);
      const attempt = await throttle.take([log]);
      await throttle.giveBack(attempt, [log]);
      await throttle.take([log]);
      const success = await throttle.take([log]);
      clock.nowMs += 1;
      await expect(throttle.take([log])).rejects.toMatchObject({ code: 'rate_limited' });
      await throttle.clear(log, success.atMs);
      await expect(outcomes(Array.from({ length: 5 }, () => throttle.take([log])))).resolves.toMatchObject({ made: 2 });
    });
  });

  it('is one for all processes', async () => {
    const throttles = Array.from({ length: 4 }, () => new AttemptThrottle(redis, new StillClock()));
    const log = newLog(10);
    const attempts = throttles.flatMap((throttle) => Array.from({ length: 10 }, () => throttle.take([log])));
    await expect(outcomes(attempts)).resolves.toMatchObject({ made: 10 });
  });

  it('refuses new ones when it counts more than a process can store', async () => {
    const clock = new StillClock();
    const throttle = new AttemptThrottle(away as unknown as RedisClient, clock);
    const flood = await outcomes(Array.from({ length: 20_010 }, () => throttle.take([newLog(5)])));
    expect(flood.made).toBe(20_000);
    clock.nowMs += WINDOW_MS;
    await expect(throttle.take([newLog(5)])).resolves.toMatchObject({ atMs: clock.nowMs });
  });
});
