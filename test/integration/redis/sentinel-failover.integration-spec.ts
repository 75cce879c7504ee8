import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { LimitConnection } from '../../../src/auth/rate-limits/limit-connection';
import { probeLimits } from '../../../src/auth/rate-limits/limit-probe';
import { createRedis, sentinelOptions } from '../../../src/core/redis/redis-client';
import { RedisSubscription } from '../../../src/core/redis/redis-subscription';
import { until } from '../../faults/figures';
import { FaultProxy } from '../../harness/fault-proxy';
import { createTestRedis, untilReady } from '../../harness/redis';
import { ScriptedSentinel } from './scripted-sentinel';

describe('a client that finds its primary through sentinels', () => {
  let primary: FaultProxy;
  let sentinel: ScriptedSentinel;
  let redis: Redis;

  beforeEach(async () => {
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    primary = await FaultProxy.start(createTestRedis().strictUrl);
    sentinel = await ScriptedSentinel.start(primary.url);
    const url = new URL(primary.url);
    url.hostname = 'primary';
    url.port = '';
    const node = { host: '127.0.0.1', port: sentinel.port, username: null, password: null };
    redis = createRedis(url.href, sentinelOptions(url.href, { redisSentinels: [node] }));
    await untilReady(redis);
    await sentinel.untilSubscribed(1);
  });

  afterEach(async () => {
    redis.disconnect();
    sentinel.close();
    await primary.close();
    jest.restoreAllMocks();
  });

  it('reconnects when the failover is announced while it asks for the new primary', async () => {
    sentinel.hold();
    primary.reset();
    await sentinel.untilAsked(1);
    sentinel.announceFailover();
    // Its subscription has ended: the announcement has reached it, or cannot any more.
    await sentinel.untilSubscribed(0);

    const next = readyOrEnded(redis);
    sentinel.release();
    expect(await next).toBe('ready');
    await untilItSucceeds(() => redis.ping());
  });

  it('listens again when the shared connection is back while the subscription asks for the new primary', async () => {
    let subscribed = 0;
    const listening = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const subscription = new RedisSubscription(redis, 'channel', {
      onMessage: () => undefined,
      onListening: () => listening[subscribed++]?.resolve(),
    });
    subscription.start();
    await listening[0]?.promise;
    await sentinel.untilSubscribed(2);

    sentinel.hold();
    primary.reset();
    await sentinel.untilAsked(2);
    // What the subscription receives when the shared connection has reached the new primary first.
    redis.emit('ready');
    sentinel.release();
    await listening[1]?.promise;
    subscription.stop();
  });

  it('checks limits again when the last calls to a primary that hung time out while it asks for the new one', async () => {
    const connection = new LimitConnection(redis);
    const probe = (): Promise<void> => probeLimits(connection, `probe:${randomUUID()}`);
    await untilItSucceeds(probe);

    primary.fail('both', { hang: true });
    const unanswered = Promise.allSettled(Array.from({ length: 8 }, probe));
    sentinel.hold();
    primary.reset();
    await sentinel.untilAsked(1);
    expect((await unanswered).map(({ status }) => status)).toEqual(Array(8).fill('rejected'));
    primary.heal();

    const next = readyOrEnded(redis);
    sentinel.release();
    expect(await next).toBe('ready');
    await untilItSucceeds(probe);
  });
});

/** A busy machine can delay an answer of Redis beyond the time limit of a command. */
function untilItSucceeds(command: () => Promise<unknown>): Promise<number> {
  return until('an answer', 60_000, () =>
    command().then(
      () => true,
      () => false,
    ),
  );
}

async function readyOrEnded(redis: Redis): Promise<string> {
  await Promise.race([once(redis, 'ready'), new Promise((resolve) => redis.once('end', resolve))]);
  return redis.status;
}
