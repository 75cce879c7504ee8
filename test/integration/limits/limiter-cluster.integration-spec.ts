import { randomUUID } from 'node:crypto';
import { LimiterBench, caller, limitedModel } from './limiter-bench';
import { itLimits } from './limiter-suite';
import { clusterArguments, createRedisClient, PrefixedCluster } from '../../../src/core/redis/redis-client';
import { until } from '../../faults/figures';
import { endChildren } from '../../harness/child-process';
import { untilReady } from '../../harness/redis';
import { RedisCluster } from '../../harness/redis-cluster';
import { REDIS_IS_INSTALLED } from '../../harness/redis-servers';

const whenInstalled = REDIS_IS_INSTALLED ? describe : describe.skip;

whenInstalled('the limiter on a cluster (skipped where redis-server is not installed)', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await RedisCluster.start();
  });
  afterAll(async () => {
    await cluster.remove();
    await endChildren();
  });

  itLimits(() => ({ cluster }));

  it('accepts the first commands to a node together, as many requests may follow a start', async () => {
    const servers = { redisSentinels: null, redisCluster: cluster.others };
    const redis = createRedisClient(cluster.url, servers, { commandTimeout: 20_000 });
    try {
      await untilReady(redis);
      const keys = Array.from({ length: 30 }, () => randomUUID());
      await Promise.all(keys.flatMap((key) => [redis.incr(key), redis.incr(key)]));
      expect(await Promise.all(keys.map((key) => redis.get(key)))).toEqual(keys.map(() => '2'));
    } finally {
      redis.disconnect();
    }
  });

  it('is found through the other nodes when one of the configured ones has no address, as a stopped pod', async () => {
    // Longer than a name may be, so that no name server is asked.
    const gone = `redis://${'x'.repeat(64)}:6379`;
    const redis = createRedisClient(gone, { redisSentinels: null, redisCluster: cluster.others });
    try {
      await until('a connection', 5_000, () => redis.status === 'ready');
      await untilReady(redis);
      await expect(redis.get(randomUUID())).resolves.toBeNull();
    } finally {
      redis.disconnect();
    }
  });

  it('is connected to again when an old connection closes during the search for the nodes', async () => {
    const [[, ...others], options] = clusterArguments(cluster.url, cluster.others, {});
    const { port } = new URL(cluster.url);
    let attempts = 0;
    const redis = new PrefixedCluster([{ host: 'localhost', port: Number(port) }, ...others], {
      ...options,
      lazyConnect: true,
      dnsLookup: (_name, done) => {
        // As `ioredis` notes the end of the last connection of an earlier attempt.
        if (++attempts === 1) redis.status = 'close';
        done(null, '127.0.0.1');
      },
    });
    try {
      await expect(redis.connect()).rejects.toThrow('Connection is aborted');
      await until('a connection', 5_000, () => redis.status === 'ready');
    } finally {
      redis.disconnect();
    }
  });

  it('names limits of another process in the same slot, so that both count together', async () => {
    const first = await LimiterBench.start({ cluster });
    const second = await LimiterBench.start({ cluster, keyPrefix: first.keyPrefix });
    try {
      const principal = caller({ requestsPerMinute: 9 });
      const model = limitedModel({ requestsPerMinute: 7 });
      const counts = await Promise.all([first, second].map((bench) => bench.admitted(20, principal, 1, model)));
      expect(counts[0] as number).toBeLessThanOrEqual(7);
      expect((counts[0] as number) + (counts[1] as number)).toBeLessThanOrEqual(7);
    } finally {
      await Promise.all([first.stop(), second.stop()]);
    }
  });

  it('never admits one too many while a slot moves between nodes, and loses no count', async () => {
    const bench = await LimiterBench.start({ cluster });
    try {
      const principal = caller({ requestsPerMinute: 30, concurrency: 100, tokensPerMinute: 1_000 });
      const slot = await cluster.slotOf(bench.keyOf(principal, 'concurrency'));
      let admitted = await bench.admitted(10, principal);
      await cluster.move(slot, async () => {
        admitted += await bench.admitted(10, principal);
      });
      expect(admitted).toBeGreaterThanOrEqual(10);
      for (let calls = 0; calls < 5; calls++) admitted += await bench.admitted(10, principal);
      expect(admitted).toBeLessThanOrEqual(30);
      expect((await bench.attempt(principal)).error).toMatchObject({ code: 'rate_limited' });
    } finally {
      await bench.stop();
    }
  });
});
