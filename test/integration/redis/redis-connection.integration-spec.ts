import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { createRedis } from '../../../src/core/redis/redis-client';
import { allowedMs, until } from '../../faults/figures';
import { createTestRedis, untilReady } from '../../harness/redis';

describe('the connection to Redis', () => {
  const upstream = new URL(createTestRedis().strictUrl);
  let proxy: TestProxy;
  let redis: Redis;
  let errors: jest.SpyInstance;
  let warnings: jest.SpyInstance;

  beforeEach(async () => {
    errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    proxy = await startProxy(upstream);
    const url = new URL(upstream);
    url.port = String(proxy.port);
    redis = createRedis(url.href);
    await untilReady(redis);
    errors.mockClear();
    warnings.mockClear();
  });

  afterEach(() => {
    redis.disconnect();
    proxy.close();
    jest.restoreAllMocks();
  });

  it('fails a command within 300 ms when Redis stops answering', async () => {
    proxy.holdReplies();
    const startedAtMs = performance.now();
    await expect(redis.ping()).rejects.toThrow('timed out');
    expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(300));
  });

  it('reconnects when Redis vanishes without closing the connection', async () => {
    proxy.holdReplies();
    await until('an answer on a new connection', 5_000, () =>
      redis.ping().then(
        (answer) => answer === 'PONG',
        () => false,
      ),
    );
  });

  it('accepts a reply that arrived while the process had no CPU time, however late', async () => {
    const direct = createRedis(upstream.href);
    try {
      await untilReady(direct);
      const answer = direct.ping();
      for (const stalledUntilMs = performance.now() + 1_000; performance.now() < stalledUntilMs;);
      await expect(answer).resolves.toBe('PONG');
    } finally {
      direct.disconnect();
    }
  });

  it('fails commands immediately during an outage, logs it once, and reconnects by itself', async () => {
    const lost = once(redis, 'close');
    proxy.close();
    await lost;
    const startedAtMs = performance.now();
    await expect(redis.ping()).rejects.toThrow();
    expect(performance.now() - startedAtMs).toBeLessThan(allowedMs(100));
    await twice(redis, 'reconnecting');

    proxy = await startProxy(upstream, proxy.port);
    await untilReady(redis);

    await until('an answer', 1_000, () =>
      redis.ping().then(
        (answer) => answer === 'PONG',
        () => false,
      ),
    );
    expect(loggedEvents(errors)).toEqual(['redis_unavailable']);
    expect(loggedEvents(warnings)).toEqual(['redis_available']);
  });
});

/** The events of this connection. Other test files of the worker share the logger. */
function loggedEvents(spy: jest.SpyInstance): unknown[] {
  return spy.mock.calls
    .map(([line]) => (line as { event?: string }).event)
    .filter((event) => event?.startsWith('redis_'));
}

interface TestProxy {
  readonly port: number;
  /** Holds back the replies on the current connections; their requests still reach Redis. */
  holdReplies(): void;
  close(): void;
}

/** A proxy in front of Redis, so that a test can cut off this client alone. */
async function startProxy(upstream: URL, port = 0): Promise<TestProxy> {
  const sockets = new Set<Socket>();
  let held = new Set<Socket>();
  const server: Server = createServer((client) => {
    const target = connect(Number(upstream.port), upstream.hostname);
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => [client, target].forEach((end) => end.destroy()));
    }
    client.pipe(target);
    target.on('data', (chunk) => {
      if (!held.has(client)) {
        client.write(chunk);
      }
    });
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    holdReplies: () => {
      held = new Set(sockets);
    },
    close: () => {
      server.close();
      sockets.forEach((socket) => socket.destroy());
    },
  };
}

async function twice(redis: Redis, event: string): Promise<void> {
  for (let seen = 0; seen < 2; seen += 1) {
    await new Promise((resolve) => redis.once(event, resolve));
  }
}
