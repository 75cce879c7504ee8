import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { FaultProxy } from '../../harness/fault-proxy';
import { allowedMs, until } from '../../faults/figures';
import { createTestRedis, patient } from '../../harness/redis';
import { describeOnOneRedis } from '../../harness/servers';
import { caller, LimiterBench } from './limiter-bench';
import { bulk, ScriptedRedis, type ScriptReply } from './scripted-redis';

/** Lets every request in, as the script does; `nonce` and the number of results can be wrong. */
const admits =
  (nonceOf: (nonce: unknown) => unknown = (nonce) => nonce, results = (count: number) => count): ScriptReply =>
  ([nonce, , , , , , , requests]) => {
    const rows = Array.from({ length: results((requests as unknown[]).length) }, () => [0, 0]);
    return bulk(JSON.stringify([nonceOf(nonce), Date.now(), rows]));
  };

beforeEach(() => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
});
afterEach(() => jest.restoreAllMocks());

describe('a Redis that answers', () => {
  it.each<[string, ScriptReply]>([
    ['that it is a read-only replica', () => "-READONLY You can't write against a read only replica.\r\n"],
    ['that it is out of memory', () => "-OOM command not allowed when used memory > 'maxmemory'.\r\n"],
    ['that it is loading', () => '-LOADING Redis is loading the dataset in memory\r\n'],
    ['that the script failed', () => '-ERR user_script:1: attempt to index a nil value\r\n'],
    ['a number', () => ':1\r\n'],
    ['nothing', () => '$-1\r\n'],
    ['another text', () => bulk('PONG')],
    ['no protocol at all', () => 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['for another request', admits(() => 'another')],
    ['for too few requests', admits(undefined, () => 0)],
    ['for too many requests', admits(undefined, (count) => count + 1)],
  ])('%s refuses requests with 503 within 300 ms, and admits them once Redis answers well', async (_what, reply) => {
    const redis = await ScriptedRedis.start(reply);
    const bench = await LimiterBench.start({ url: redis.url });
    try {
      const startedAtMs = performance.now();
      const trials = await Promise.all(Array.from({ length: 5 }, () => bench.attempt(caller({ concurrency: 1 }))));
      expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(300));
      expect(trials.map(({ error }) => error?.code)).toEqual(Array(5).fill('service_unavailable'));
      redis.answerWith(admits());
      await until('the return', 1_000, async () => (await bench.attempt(caller())).error === null);
    } finally {
      await bench.stop();
      redis.close();
    }
  });

  it('admits requests again afterwards, also when the first of them carries the call that was due for a retry', async () => {
    const redis = await ScriptedRedis.start(() => '-LOADING Redis is loading the dataset in memory\r\n');
    const bench = await LimiterBench.start({ url: patient(redis.url) });
    try {
      for (let round = 0; round < 3; round++) {
        redis.answerWith(() => '-LOADING Redis is loading the dataset in memory\r\n');
        expect((await bench.attempt(caller({ concurrency: 1 }))).error).toMatchObject({ code: 'service_unavailable' });
        redis.answerWith(admits());
        // Slots are freed again after a quarter of a second.
        for (const untilMs = performance.now() + 400; performance.now() < untilMs; await delay(20)) {
          expect((await bench.attempt(caller())).error).toBeNull();
        }
      }
    } finally {
      await bench.stop();
      redis.close();
    }
  });

  it('late replies are logged once per outage, although single replies arrive in time, and once when it has ended', async () => {
    const redis = await ScriptedRedis.start(admits());
    let nowMs = 0;
    const clock = { now: () => Date.now(), monotonic: () => nowMs };
    const bench = await LimiterBench.start({ url: patient(redis.url), clock });
    const events = (log: jest.SpyInstance): unknown[] => log.mock.calls.map(([entry]) => entry.event);
    const [errors, warnings] = [jest.spyOn(Logger.prototype, 'error'), jest.spyOn(Logger.prototype, 'warn')];
    try {
      for (let round = 0; round < 3; round++) {
        redis.answerWith(() => '-LOADING Redis is loading the dataset in memory\r\n');
        expect((await bench.attempt(caller())).error).toMatchObject({ code: 'service_unavailable' });
        redis.answerWith(admits());
        nowMs += 500;
        expect((await bench.attempt(caller())).error).toBeNull();
      }
      expect([events(errors), events(warnings)]).toEqual([['limits_unavailable'], []]);
      nowMs += 500;
      await bench.attempt(caller());
      expect(warnings.mock.calls).toEqual([
        [expect.objectContaining({ event: 'limits_available', outage_ms: 1_000, refused_requests: 3 })],
      ]);
    } finally {
      await bench.stop();
      redis.close();
    }
  });

  it('a call with the answer of another one loses that connection', async () => {
    const redis = await ScriptedRedis.start(admits(() => 'another'));
    const bench = await LimiterBench.start({ url: patient(redis.url) });
    try {
      const before = redis.connections;
      await bench.attempt(caller());
      redis.answerWith(admits());
      await until('the return', 2_000, async () => (await bench.attempt(caller())).error === null);
      expect(redis.connections).toBeGreaterThan(before);
    } finally {
      await bench.stop();
      redis.close();
    }
  });
});

describeOnOneRedis('behind a proxy', () => {
  it('a slot that was taken by a call whose answer never came is free once Redis can be reached', async () => {
    const { strictUrl: url, keyPrefix } = createTestRedis();
    const proxy = await FaultProxy.start(url);
    // Long enough for the slot to be seen before it is given back.
    const redis = { commandTimeout: 3_000 };
    const [bench, other] = [
      await LimiterBench.start({ url: proxy.url, keyPrefix, redis }),
      await LimiterBench.start({ keyPrefix }),
    ];
    try {
      const principal = caller({ concurrency: 1 });
      const key = `${keyPrefix}key:${principal.keyId}:concurrency`;
      // Loads the script: a server without it takes the slot only after an answer.
      await other.attempt(caller());
      proxy.fail('toClient', { hang: true });
      const trial = bench.attempt(principal);
      await until('the slot', 2_000, async () => (await other.redis.zcard(key)) === 1);
      proxy.fail('both', { hang: true });
      expect((await trial).error).toMatchObject({ code: 'service_unavailable' });
      expect(await other.redis.zcard(key)).toBe(1);
      proxy.fail('both', {});
      await until('the free slot', 2_000, async () => (await other.redis.zcard(key)) === 0);
      expect((await other.attempt(principal)).error).toBeNull();
    } finally {
      await Promise.all([bench.stop(), other.stop()]);
      await proxy.close();
    }
  });

  it('a Redis that has lost its data receives the slots of requests in flight as soon as it is back', async () => {
    const { strictUrl: url, keyPrefix } = createTestRedis();
    const proxy = await FaultProxy.start(url);
    const [bench, other] = [
      await LimiterBench.start({ url: proxy.url, keyPrefix }),
      await LimiterBench.start({ keyPrefix }),
    ];
    try {
      const principal = caller({ concurrency: 1 });
      const key = `${keyPrefix}key:${principal.keyId}:concurrency`;
      await until('a slot', 2_000, async () => (await bench.attempt(principal)).error === null);
      proxy.cutOff();
      await other.redis.del(key);
      proxy.heal();
      await until('the news', 2_000, async () => (await other.redis.zcard(key)) === 1);
      expect((await other.attempt(principal)).error).toMatchObject({ code: 'concurrency_exceeded' });
    } finally {
      await Promise.all([bench.stop(), other.stop()]);
      await proxy.close();
    }
  });

  /** F-34. Every caller has a limit of its own size, so that the remainder shows whose count was answered. */
  it('connections that break under load never give a request the count of another caller', async () => {
    const { strictUrl: url, keyPrefix } = createTestRedis();
    const proxy = await FaultProxy.start(url);
    const bench = await LimiterBench.start({ url: proxy.url, keyPrefix });
    const step = 100_000;
    const callers = Array.from({ length: 32 }, (_, index) => caller({ requestsPerMinute: (index + 1) * step }));
    const counts = { admitted: 0, unavailable: 0, foreign: 0 };
    const load = { running: true };
    const run = async (index: number): Promise<void> => {
      while (load.running) {
        const { headers, error } = await bench.attempt(callers[index] as (typeof callers)[number]);
        if (error === null) {
          counts.admitted++;
          const left = Number(headers?.['x-ratelimit-remaining-requests']);
          if (Math.ceil((left + 1) / step) !== index + 1) counts.foreign++;
        } else if (error.code === 'service_unavailable') {
          counts.unavailable++;
        } else {
          throw error;
        }
        await delay(5);
      }
    };
    const workers = Promise.all(callers.map((_, index) => run(index)));
    // Twelve cuts are enough, unless a busy machine stalls for most of their time.
    for (let cut = 0; cut < 12 || counts.unavailable === 0 || counts.admitted <= 100; cut++) {
      proxy.fail('both', { latencyMs: 3, sliceBytes: 700 });
      await delay(150);
      proxy.fail('toClient', { cut: { afterBytes: 50 * (cut % 12), by: 'reset' } });
      await delay(60);
      proxy.fail('both', {});
    }
    load.running = false;
    await workers;
    await bench.stop();
    await proxy.close();
    expect(counts.foreign).toBe(0);
  });
});
