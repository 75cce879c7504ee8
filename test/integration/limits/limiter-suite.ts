import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { GatewayError } from '../../../src/core/errors/gateway-error';
import type { Principal } from '../../../src/core/types/request-context';
import type { RateLimits } from '../../../src/core/types/rate-limits';
import { type BenchOptions, caller, limitedModel, LimiterBench, OPEN_MODEL, SHORT } from './limiter-bench';

const GLOBAL_LIMIT = 1_000;
/** Some of it may have passed. */
const ALMOST_A_MINUTE = expect.stringMatching(/^(1m0s|[3-5]\ds)$/) as string;

/** What limits guarantee, on the servers of `servers`. */
export function itLimits(servers: () => Pick<BenchOptions, 'cluster'>): void {
  const start = (options: BenchOptions = {}): Promise<LimiterBench> => LimiterBench.start({ ...servers(), ...options });
  let bench: LimiterBench;
  let quick: LimiterBench;

  beforeAll(async () => {
    bench = await start({ global: { requestsPerMinute: GLOBAL_LIMIT } });
    quick = await start({ lengths: SHORT });
  });

  afterAll(() => Promise.all([bench.stop(), quick.stop()]));

  describe.each<[keyof RateLimits, string, string, number]>([
    ['requestsPerSecond', 'rate_limited', 'second', 1],
    ['requestsPerMinute', 'rate_limited', 'minute', 1],
    ['tokensPerMinute', 'tokens_per_minute_exceeded', 'minute', 10],
    ['concurrency', 'concurrency_exceeded', 'in_flight', 1],
  ])('%s', (kind, code, window, unit) => {
    it.each<[string, (limit: number) => [Principal, ReturnType<typeof limitedModel>]]>([
      ['key', (limit) => [caller({ [kind]: limit }), OPEN_MODEL]],
      ['organization', (limit) => [caller({}, { [kind]: limit }), OPEN_MODEL]],
      ['model', (limit) => [caller(), limitedModel({ [kind]: limit })]],
    ])('of a %s lets in as many as its limit, refuses the next and says whose limit it is', async (scope, arrange) => {
      const limit = 7 * unit;
      const [principal, model] = arrange(limit);
      expect(await bench.admitted(7, principal, unit, model)).toBe(7);
      const { error } = await bench.attempt(principal, unit, model);
      expect(error).toMatchObject({ code, details: { scope, limit, window } });
      expect(error?.retryAfterSeconds).toBeGreaterThanOrEqual(1);
    });

    it('lets in exactly its limit of many at once', async () => {
      expect(await bench.admitted(40, caller({ [kind]: 13 * unit }), unit)).toBe(13);
    });
  });

  it('counts a limit that keys of one organization share over all of them', async () => {
    const first = caller({}, { requestsPerMinute: 5 });
    const second = { ...first, keyId: caller().keyId };
    expect((await bench.admitted(4, first)) + (await bench.admitted(4, second))).toBe(5);
  });

  it('takes nothing anywhere when one of several limits refuses', async () => {
    const principal = caller({ requestsPerSecond: 9, requestsPerMinute: 9, tokensPerMinute: 100, concurrency: 9 });
    const model = limitedModel({ requestsPerMinute: 1 });
    expect(await bench.admitted(1, principal, 10, model)).toBe(1);
    expect(await bench.admitted(20, principal, 10, model)).toBe(0);
    const { headers } = await bench.attempt(principal, 10, limitedModel({}));
    expect(headers).toMatchObject({
      'x-ratelimit-remaining-requests': '7',
      'x-ratelimit-remaining-tokens': '80',
    });
    expect(await bench.redis.zcard(bench.keyOf(principal, 'concurrency'))).toBe(2);
  });

  it('names the limit that lasts longest when several refuse', async () => {
    const principal = caller({ requestsPerSecond: 2, requestsPerMinute: 2 });
    await bench.admitted(2, principal);
    expect((await bench.attempt(principal)).error).toMatchObject({ details: { window: 'minute' } });
  });

  it('never admits more than the limit within any window length, and the whole limit again after it', async () => {
    const principal = caller({ requestsPerSecond: 5 });
    const admittedAtMs: number[] = [];
    while (admittedAtMs.length < 2 * 18) {
      const sentAtMs = performance.now();
      const { lease } = await quick.attempt(principal);
      // Judged somewhere between the two: the earliest moment for the first of five, the latest for the sixth.
      if (lease !== null) admittedAtMs.push(sentAtMs, performance.now());
    }
    const count = admittedAtMs.length / 2;
    for (let first = 0; first + 5 < count; first++) {
      const earliest = admittedAtMs[2 * first] as number;
      const latest = admittedAtMs[2 * (first + 5) + 1] as number;
      expect(latest - earliest).toBeGreaterThanOrEqual(SHORT.secondMs - 1);
    }
  });

  it.each<[string, Partial<RateLimits>, number]>([
    ['requests', { requestsPerMinute: 3 }, 1],
    ['tokens', { tokensPerMinute: 30 }, 10],
  ])('admits a refused caller again after its Retry-After (%s)', async (_what, limits, tokens) => {
    const principal = caller(limits);
    let error: GatewayError | null = null;
    while (error === null) {
      ({ error } = await quick.attempt(principal, tokens));
      await delay(SHORT.minuteMs / 10);
    }
    const retryAfterSeconds = error.retryAfterSeconds as number;
    expect(retryAfterSeconds).toBeLessThanOrEqual(Math.ceil(SHORT.minuteMs / 1_000));
    await delay(retryAfterSeconds * 1_000);
    expect((await quick.attempt(principal, tokens)).error).toBeNull();
  });

  it('refuses a request that alone is larger than the limit of tokens, and says that waiting does not help', async () => {
    const principal = caller({ tokensPerMinute: 10 });
    const { error } = await bench.attempt(principal, 11);
    expect(error).toMatchObject({
      code: 'tokens_per_minute_exceeded',
      retryAfterSeconds: 1,
      details: { scope: 'key', limit: 10, window: 'minute', estimated_tokens: 11 },
    });
    expect((await bench.attempt(principal, 10)).error).toBeNull();
  });

  it('returns estimated tokens that were not used', async () => {
    const principal = caller({ tokensPerMinute: 100 });
    const { lease } = await bench.attempt(principal, 100);
    expect((await bench.attempt(principal, 1)).error).not.toBeNull();
    lease?.release(40);
    lease?.release(40);
    expect((await bench.attempt(principal, 61)).error).not.toBeNull();
    expect((await bench.attempt(principal, 60)).error).toBeNull();
  });

  it('counts tokens that were used beyond the estimate', async () => {
    const principal = caller({ tokensPerMinute: 100 });
    const { lease } = await bench.attempt(principal, 10);
    lease?.release(95);
    expect((await bench.attempt(principal, 6)).error).not.toBeNull();
    expect((await bench.attempt(principal, 5)).error).toBeNull();
  });

  it('frees a slot, however often it is released', async () => {
    const principal = caller({ concurrency: 2 });
    const first = await bench.attempt(principal);
    await bench.attempt(principal);
    first.lease?.release(0);
    first.lease?.release(0);
    expect(await bench.admitted(3, principal)).toBe(1);
  });

  it('reports the remainder of the tightest request limit and token limit', async () => {
    const principal = caller({ requestsPerSecond: 10, tokensPerMinute: 1_000 }, { requestsPerMinute: 3 });
    await bench.attempt(principal, 300);
    const { headers } = await bench.attempt(principal, 300);
    expect(headers).toEqual({
      'x-ratelimit-limit-requests': '3',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': ALMOST_A_MINUTE,
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '400',
      'x-ratelimit-reset-tokens': ALMOST_A_MINUTE,
    });
    expect((await bench.attempt(caller({ concurrency: 1 }), 1)).headers).toEqual({});
  });

  it('refuses a caller known to be over its limit without asking Redis, for as long as that is so', async () => {
    let elapsedMs = 0;
    const own = await start({ clock: { now: () => 0, monotonic: () => elapsedMs } });
    try {
      const principal = caller({ requestsPerMinute: 1 });
      const context = { rateLimitHeaders: null as Readonly<Record<string, string>> | null };
      const early = (): void => own.limiter.refuseEarly(context, principal);
      expect(early).not.toThrow();
      // Judged at the same moment.
      await Promise.all([own.attempt(principal), own.attempt(principal)]);
      expect(early).toThrow(expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 60 }));
      expect(context.rateLimitHeaders).toMatchObject({ 'x-ratelimit-remaining-requests': '0' });
      elapsedMs = 59_500;
      expect(early).toThrow(expect.objectContaining({ retryAfterSeconds: 1 }));
      expect(context.rateLimitHeaders).toMatchObject({ 'x-ratelimit-reset-requests': '1s' });
      elapsedMs = 60_000;
      expect(early).not.toThrow();
    } finally {
      await own.stop();
    }
  });

  it.each(['tokensPerMinute', 'concurrency'] as const)('asks Redis about a caller over its %s', async (kind) => {
    const principal = caller({ [kind]: 1 });
    await bench.attempt(principal);
    expect((await bench.attempt(principal)).error).not.toBeNull();
    expect(() => bench.limiter.refuseEarly({ rateLimitHeaders: null }, principal)).not.toThrow();
  });

  it('frees the slots of a dead process when their leases expire, and keeps those of a live one', async () => {
    // Longer than a machine stalls between two renewals.
    const times = { leaseMs: 6_000, renewEveryMs: 400 };
    const dead = await start({ times: { ...times, renewEveryMs: 600_000 } });
    const alive = await start({ times, keyPrefix: dead.keyPrefix });
    try {
      const principal = caller({ concurrency: 2 });
      await dead.attempt(principal);
      await alive.attempt(principal);
      expect(await alive.admitted(1, principal)).toBe(0);
      while ((await alive.admitted(1, principal)) === 0) await delay(20);
      // The first lease of the live process began together with that of the dead one.
      await delay(times.leaseMs / 4);
      expect(await alive.admitted(5, principal)).toBe(0);
    } finally {
      await Promise.all([dead.stop(), alive.stop()]);
    }
  });

  it.each(['requests_per_minute', 'concurrency'])(
    'refuses only callers whose %s key in Redis has another type, with 503',
    async (kind) => {
      jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
      const limits = { requestsPerMinute: 5, concurrency: 5 };
      const [broken, other] = [caller(limits), caller(limits)];
      await bench.redis.lpush(bench.keyOf(broken, kind), 'not ours');
      const [first, second] = await Promise.all([bench.attempt(broken), bench.attempt(other)]);
      expect(first.error).toMatchObject({ code: 'service_unavailable' });
      expect(second.error).toBeNull();
      jest.restoreAllMocks();
    },
  );

  it('discards a window that Redis stored while its clock was far ahead', async () => {
    const principal = caller({ requestsPerMinute: 2 });
    const key = bench.keyOf(principal, 'requests_per_minute');
    const bucket = Math.floor((Date.now() + 3_600_000) / 1_200);
    await bench.redis.hset(key, { used: 2, oldest: bucket, last: bucket * 1_200, [bucket]: 2_400 });
    expect(await bench.admitted(3, principal)).toBe(2);
  });

  it('refuses spending and reading requests whose key has the wrong type with 503, and logs it', async () => {
    const principal = caller({ requestsPerMinute: 2 });
    const kinds = ['requests_per_minute', 'reads_per_second'];
    await Promise.all(kinds.map((kind) => bench.redis.set(bench.keyOf(principal, kind), 'text', 'EX', 60)));
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const unavailable = expect.objectContaining({ code: 'service_unavailable', status: 503 }) as Error;
    try {
      expect((await bench.attempt(principal)).error).toEqual(unavailable);
      expect(logged).toHaveBeenCalledTimes(1);
      await expect(bench.limiter.admitRead(principal)).rejects.toEqual(unavailable);
      expect(logged).toHaveBeenCalledTimes(2);
      expect(logged).toHaveBeenLastCalledWith(expect.objectContaining({ event: 'limit_key_unreadable' }));
    } finally {
      jest.restoreAllMocks();
    }
  });

  it('lets every key of a caller expire within two minutes', async () => {
    const principal = caller({ requestsPerSecond: 5, requestsPerMinute: 5, tokensPerMinute: 5, concurrency: 5 });
    await bench.attempt(principal);
    const kinds = ['requests_per_second', 'requests_per_minute', 'tokens_per_minute', 'concurrency'];
    const ttls = await Promise.all(kinds.map((kind) => bench.redis.pttl(bench.keyOf(principal, kind))));
    expect(Math.min(...ttls)).toBeGreaterThan(0);
    expect(Math.max(...ttls)).toBeLessThanOrEqual(120_000);
  });

  it('limits all callers together', async () => {
    const bench = await start({ global: { requestsPerMinute: 5, concurrency: 4 } });
    try {
      expect((await bench.admitted(3, caller())) + (await bench.admitted(3, caller()))).toBe(4);
      expect((await bench.attempt(caller())).error).toMatchObject({
        details: { scope: 'global', window: 'in_flight' },
      });
    } finally {
      await bench.stop();
    }
  });
}
