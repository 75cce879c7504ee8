import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { AttemptThrottle } from '../../src/auth/rate-limits/attempt-throttle';
import { readQueuePrefix } from '../../src/core/queue/queue-connection';
import { createRedisClient, type RedisClient } from '../../src/core/redis/redis-client';
import { RedisSubscription } from '../../src/core/redis/redis-subscription';
import { SecretBox } from '../../src/core/secrets/secret-box';
import { systemClock } from '../../src/core/time/clock';
import { SignInHistoryStore } from '../../src/dashboard/accounts/sign-in-history';
import { ReasoningVaults } from '../../src/inference/reasoning-vaults';
import { HealthSharing } from '../../src/models/routing/health-sharing';
import { until } from './figures';
import { endChildren } from '../harness/child-process';
import { untilReady } from '../harness/redis';
import { QUICK_FAILOVER_MS, RedisCluster } from '../harness/redis-cluster';
import { REDIS_IS_INSTALLED } from '../harness/redis-servers';
import {
  arrive,
  closeProcesses,
  connected,
  done,
  openProcess,
  row,
  untilOneArrives,
} from '../integration/queue/wake-up-process';

// Servers are killed on purpose.
Logger.overrideLogger(false);

const whenInstalled = REDIS_IS_INSTALLED ? describe : describe.skip;

whenInstalled('a Redis Cluster (skipped where redis-server is not installed)', () => {
  let cluster: RedisCluster;
  const clients: RedisClient[] = [];

  /** One process of a deployment. */
  const connect = (keyPrefix: string, commandTimeout = 20_000): RedisClient => {
    const servers = { redisSentinels: null, redisCluster: cluster.others };
    const client = createRedisClient(cluster.url, servers, { keyPrefix, commandTimeout });
    clients.push(client.on('error', () => undefined));
    return client;
  };
  const open = async (keyPrefix = `${randomUUID()}:`): Promise<RedisClient> => {
    const client = connect(keyPrefix);
    await untilReady(client);
    return client;
  };

  beforeEach(async () => {
    cluster = await RedisCluster.start(QUICK_FAILOVER_MS);
  });
  afterEach(async () => {
    await closeProcesses();
    for (const client of clients.splice(0)) client.disconnect();
    await cluster.remove();
  });
  afterAll(() => endChildren());

  it('keeps attempts, sign-ins, reasoning and health, each in one command that its nodes accept', async () => {
    const redis = await open();

    const throttle = new AttemptThrottle(redis, systemClock);
    const logs = ['one', 'two', 'three'].map((key) => ({ key, limit: 1, windowMs: 60_000 }));
    await throttle.take(logs);
    await expect(throttle.take(logs)).rejects.toMatchObject({ code: 'rate_limited' });
    const others = new AttemptThrottle(redis, systemClock);
    await expect(others.take(logs.slice(1))).rejects.toMatchObject({ code: 'rate_limited' });

    const history = new SignInHistoryStore(redis, systemClock);
    await history.addNetwork('someone', '192.0.2.1');
    await history.addReset('someone');
    expect(await history.find('someone', '192.0.2.1')).toEqual({
      isKnownNetwork: true,
      resetId: expect.any(String) as string,
    });

    const vault = new ReasoningVaults(redis, new SecretBox(['ab'.repeat(32)])).of(randomUUID(), randomUUID());
    for (const id of ['one', 'two', 'three']) await vault.store(id, `state of ${id}`);
    expect((await vault.load(['one', 'two', 'three'])).size).toBe(3);

    const health = new HealthSharing(redis);
    expect([await health.countFailure('a', 60_000), await health.countFailure('a', 60_000)]).toEqual([1, 2]);
    await health.announce({ kind: 'open', id: 'a', forMs: 60_000 });
    expect(await health.readStates()).toMatchObject([{ kind: 'open', id: 'a' }]);
    expect([await health.claimProbe('a', 60_000), await health.claimProbe('a', 60_000)]).toEqual([true, false]);
    expect(await health.forget('a')).toBe(true);
    expect(await health.readStates()).toEqual([]);
  });

  it('delivers messages to every process, and reports that some may be lost when the node of a subscriber fails', async () => {
    const keyPrefix = `${randomUUID()}:`;
    const [sender, receiver] = await Promise.all([open(keyPrefix), open(keyPrefix)]);
    const received: string[] = [];
    let listenings = 0;
    const subscription = new RedisSubscription(receiver, 'changes', {
      onMessage: (message) => received.push(message),
      onListening: () => listenings++,
    });
    subscription.start();
    await until('the subscription', 10_000, () => listenings === 1);
    await sender.publish('changes', 'before');
    await until('the first message', 10_000, () => received.includes('before'));

    for (const server of cluster.servers) {
      const clientsOfServer = String(await server.client.client('LIST'));
      if (/ sub=1 /.test(clientsOfServer)) await server.kill();
    }
    await until('another node', 30_000, () => listenings > 1);
    await until('a message after the failure', 30_000, async () => {
      await sender.publish('changes', 'after').catch(() => undefined);
      return received.includes('after');
    });
    subscription.stop();
  });

  it('carries the wake-ups of a queue on, also after the primary of the queue was killed', async () => {
    const database = randomUUID();
    const receiver = await openProcess(connect(`${database}:`), database, done);
    await connected(receiver);
    const ids = [randomUUID(), randomUUID(), randomUUID()];
    await Promise.all(ids.map((id) => receiver.queue.wake(row(id))));
    await arrive(receiver, ids.length);
    expect(receiver.seen.toSorted()).toEqual(ids.toSorted());

    const prefix = await readQueuePrefix({ query: async () => [{ id: database }] as never });
    const slot = await cluster.slotOf(prefix);
    const primary = await cluster.ownerOf(slot);
    await primary.kill();
    await until('a new primary', 30_000, async () => (await cluster.ownerOf(slot)) !== primary);
    await untilOneArrives(receiver);
  });
});
