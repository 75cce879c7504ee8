import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { AppConfig } from '../../../src/core/config/app-config';
import { ProviderError } from '../../../src/providers/contract/provider-error';
import { KeyCoolDowns } from '../../../src/providers/key-cool-downs';
import { KeyPool, type PooledKey } from '../../../src/providers/key-pool';
import { createRedis } from '../../../src/core/redis/redis-client';
import type { DeploymentCall } from '../../../src/models/routing/deployment-health';
import { HealthService } from '../../../src/models/routing/health.service';
import { HealthSharing } from '../../../src/models/routing/health-sharing';
import { allowedMs } from '../../faults/figures';
import { chatRequest, providerCall, providerErrorOf } from '../../conformance/provider-call';
import { createTestRedis, untilReady } from '../../harness/redis';

Logger.overrideLogger(false);

const OPEN_MS = 30_000;
/** How soon the processes agree. */
const AGREED_WITHIN_MS = allowedMs(1_000);
const OUTAGE = new ProviderError('provider_unavailable', '', { phase: 'headers', fallback: true });

/** The health of deployments as one process of the gateway has it. */
class Process {
  skippedMs = 0;
  readonly service: HealthService;
  readonly keys: KeyCoolDowns;

  constructor(private readonly redis: Redis) {
    const routing = { breakerFailures: 5, breakerOpenMs: OPEN_MS, providerMaxConcurrency: 100 };
    const clock = { now: () => Date.now(), monotonic: () => performance.now() + this.skippedMs };
    this.keys = new KeyCoolDowns(clock);
    this.service = new HealthService(new HealthSharing(redis), this.keys, clock, { routing } as AppConfig);
    this.service.onModuleInit();
  }

  /** One that hears the others from now on. */
  static async start(): Promise<Process> {
    const redis = createRedis(createTestRedis().url);
    await untilReady(redis);
    const process = new Process(redis);
    const id = randomUUID();
    const health = process.service.healthOf(id);
    // Redis does not announce when a subscription is in place; a message that arrives proves it.
    const speaker = new HealthSharing(redis);
    await until(() => {
      void speaker.announce({ kind: 'open', id: id, forMs: 1 });
      return health.isOpen;
    });
    await speaker.announce({ kind: 'close', id: id, forMs: 0 });
    return process;
  }

  async begin(id: string): Promise<DeploymentCall | null> {
    return this.service.beginCall(this.service.healthOf(id), this.service.loadOf('provider'));
  }

  async fail(id: string, times: number): Promise<void> {
    for (let time = 0; time < times; time++) (await this.begin(id))?.fail(OUTAGE);
  }

  isOpen(id: string): boolean {
    return this.service.healthOf(id).isOpen;
  }

  async stop(): Promise<void> {
    await this.service.onApplicationShutdown();
    this.redis.disconnect();
  }
}

async function until(condition: () => boolean, withinMs = 60_000): Promise<number> {
  const startMs = performance.now();
  while (!condition()) {
    if (performance.now() - startMs > withinMs) throw new Error(`not so within ${withinMs} ms`);
    await delay(5);
  }
  return performance.now() - startMs;
}

let redis: Redis;
let one: Process;
let two: Process;
let id: string;

beforeAll(async () => {
  redis = createRedis(createTestRedis().url);
  [one, two] = await Promise.all([Process.start(), Process.start()]);
});
beforeEach(() => {
  id = randomUUID();
  one.skippedMs = two.skippedMs = 0;
});
afterEach(() => redis.hdel('{gateway:health}:states', `open:${id}`, `cool:${id}`));
afterAll(async () => {
  await Promise.all([one.stop(), two.stop()]);
  redis.disconnect();
});

describe('two processes', () => {
  it('agree within a second that a deployment has failed, and that it has recovered', async () => {
    await one.fail(id, 5);
    const openedMs = await until(() => two.isOpen(id), AGREED_WITHIN_MS);
    one.skippedMs = OPEN_MS;
    const probe = await one.begin(id);
    probe?.succeed(10);
    const closedMs = await until(() => !two.isOpen(id), AGREED_WITHIN_MS);
    process.stderr.write(`received open after ${openedMs.toFixed(1)} ms, of closed after ${closedMs.toFixed(1)} ms\n`);
    expect(one.isOpen(id)).toBe(false);
  });

  it('add up their failures', async () => {
    await one.fail(id, 3);
    await until(() => one.service.healthOf(id).failures === 3);
    await two.fail(id, 2);
    await until(() => one.isOpen(id) && two.isOpen(id), AGREED_WITHIN_MS);
  });

  it('reset the failures of both when one of them has succeeded', async () => {
    await one.fail(id, 4);
    (await one.begin(id))?.succeed(10);
    const counter = `{gateway:health}:failures:${id}`;
    while ((await redis.exists(counter)) !== 0) await delay(5);
    await two.fail(id, 4);
    while ((await redis.get(counter)) !== '4') await delay(5);
    expect([one.isOpen(id), two.isOpen(id)]).toEqual([false, false]);
  });

  it('try a failed deployment with one call between them', async () => {
    await one.fail(id, 5);
    await until(() => two.isOpen(id), AGREED_WITHIN_MS);
    one.skippedMs = two.skippedMs = OPEN_MS;
    const calls = await Promise.all([one, two, one, two, one, two].map((process) => process.begin(id)));
    expect(calls.filter((call) => call !== null)).toHaveLength(1);
  });

  it('both cool down a deployment after one of them receives a Retry-After', async () => {
    const limited = new ProviderError('provider_rate_limited', '', {
      phase: 'headers',
      fallback: true,
      retryAfterSeconds: 60,
    });
    (await one.begin(id))?.fail(limited);
    const health = two.service.healthOf(id);
    await until(() => !health.isUndisturbed, AGREED_WITHIN_MS);
    expect(health.waitMs(performance.now())).toBeGreaterThan(30_000);
    expect(health.waitMs(performance.now())).toBeLessThanOrEqual(60_000);
  });
});

describe('a key of a provider instance that one of two processes finds limited', () => {
  const LIMITED = new ProviderError('provider_rate_limited', '', {
    phase: 'headers',
    fallback: true,
    retryAfterSeconds: 60,
  });

  /** A pool of one key as that process has it; `calls` counts what reached the upstream. */
  function poolOf(process: Process, keyId: string) {
    const upstream = { calls: 0, failure: null as ProviderError | null };
    const complete = (): Promise<unknown> => {
      upstream.calls++;
      return upstream.failure === null ? Promise.resolve({ body: {} }) : Promise.reject(upstream.failure);
    };
    const provider = { capabilities: {}, quirks: {}, chat: { complete } } as unknown as PooledKey['provider'];
    const pool = new KeyPool('team', [{ id: 'key', accountId: keyId, weight: 1, provider }], process.keys);
    return { upstream, ask: () => pool.chat?.complete(chatRequest(), providerCall()) ?? Promise.reject() };
  }
  afterEach(() => redis.hdel('{gateway:health}:states', `key:${id}`));

  it('cools down in both within a second, so that the other makes no call with it', async () => {
    const [here, there] = [poolOf(one, id), poolOf(two, id)];
    await there.ask();
    here.upstream.failure = LIMITED;
    await providerErrorOf(here.ask());
    await until(() => two.keys.waitMs(id) > 0, AGREED_WITHIN_MS);
    const error = await providerErrorOf(there.ask());
    expect([error.code, there.upstream.calls]).toEqual(['provider_rate_limited', 1]);
    expect(error.options.retryAfterSeconds).toBeGreaterThan(30);
    one.skippedMs = two.skippedMs = 60_000;
    await there.ask();
    expect(there.upstream.calls).toBe(2);
  });

  it('is ready again in both when its settings change', async () => {
    const here = poolOf(one, id);
    here.upstream.failure = LIMITED;
    await providerErrorOf(here.ask());
    await until(() => two.keys.waitMs(id) > 0, AGREED_WITHIN_MS);
    one.keys.end(id);
    await until(() => two.keys.waitMs(id) === 0, AGREED_WITHIN_MS);
    expect(await redis.hexists('{gateway:health}:states', `key:${id}`)).toBe(0);
  });

  it('cools down in a process that starts later', async () => {
    const here = poolOf(one, id);
    here.upstream.failure = LIMITED;
    await providerErrorOf(here.ask());
    await until(() => two.keys.waitMs(id) > 0, AGREED_WITHIN_MS);
    const late = await Process.start();
    try {
      await until(() => late.keys.waitMs(id) > 0);
    } finally {
      await late.stop();
    }
  });
});

it('a process that starts later knows what the others have found', async () => {
  await one.fail(id, 5);
  await until(() => two.isOpen(id), AGREED_WITHIN_MS);
  const late = await Process.start();
  try {
    await until(() => late.isOpen(id));
  } finally {
    await late.stop();
  }
});

it('drops ended cool-downs and circuits without a call for an hour', async () => {
  const states = '{gateway:health}:states';
  const fields = [`cool:${id}`, `open:${id}`];
  const ageMs = { short: 60_000, long: 3_700_000 };
  await redis.hset(states, { [`cool:${id}`]: Date.now() - ageMs.short, [`open:${id}`]: Date.now() - ageMs.short });
  const sharing = new HealthSharing(redis);
  expect((await sharing.read()).filter((news) => news.id === id)).toEqual([{ kind: 'open', id: id, forMs: 0 }]);
  expect((await redis.hmget(states, ...fields)).map((state) => state !== null)).toEqual([false, true]);
  await redis.hset(states, { [`open:${id}`]: Date.now() - ageMs.long });
  await sharing.read();
  expect(await redis.hmget(states, ...fields)).toEqual([null, null]);
});

describe('without Redis', () => {
  let server: Server;
  const sockets = new Set<Socket>();
  /** What Redis says; a hung one says nothing. */
  let answer: (socket: Socket) => void;
  let alone: Process;

  const startAlone = async (says: typeof answer, isReachable: boolean): Promise<void> => {
    answer = says;
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      answer(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const broken = createRedis(`redis://127.0.0.1:${port}`, { enableReadyCheck: false });
    if (isReachable) await untilReady(broken);
    alone = new Process(broken);
  };
  afterEach(async () => {
    const stopped = alone.stop();
    for (const socket of sockets) socket.destroy();
    server.close();
    await stopped;
  });

  it.each<[string, boolean, typeof answer]>([
    ['unreachable', false, (socket) => socket.destroy()],
    ['hung', true, () => undefined],
  ])(
    'that is %s, a process uses its own observations, and no ordinary call waits',
    async (_state, isReachable, says) => {
      await startAlone(says, isReachable);
      const { service } = alone;
      for (let time = 0; time < 5; time++) {
        const call = service.beginCall(service.healthOf(id), service.loadOf('provider'));
        // Not a promise: there is nothing to wait for.
        if (call === null || call instanceof Promise) throw new Error('an ordinary call had to wait');
        call.fail(OUTAGE);
      }
      expect(alone.isOpen(id)).toBe(true);
      expect(await alone.begin(id)).toBeNull();

      alone.skippedMs = OPEN_MS;
      const startMs = performance.now();
      const probes = await Promise.all([alone.begin(id), alone.begin(id), alone.begin(id)]);
      expect(probes.filter((probe) => probe !== null)).toHaveLength(1);
      // The time limit of a command is 250 ms.
      expect(performance.now() - startMs).toBeLessThan(allowedMs(250));
      probes.find((probe) => probe !== null)?.succeed(10);
      expect(alone.isOpen(id)).toBe(false);
    },
  );
});
