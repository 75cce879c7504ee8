/**
 * The servers of a run as settings of a gateway. `TEST_PGBOUNCER=1` puts a PgBouncer in transaction mode in front of
 * PostgreSQL, `TEST_REDIS_CLUSTER=1` uses a Redis Cluster: the same tests then run as such deployments do.
 */
import type { RedisServers } from '../../src/core/redis/redis-client';
import type { RedisNode } from '../../src/core/types/redis-node';
import { PGBOUNCER_IS_INSTALLED, type RunningPgBouncer, startPgBouncer } from './pgbouncer';
import { createTestRedis } from './redis';
import { RedisCluster } from './redis-cluster';

/** Few enough that transactions of one test often change their server connection. */
const POOLED_CONNECTIONS = 4;

let pooler: RunningPgBouncer | undefined;
let cluster: RedisCluster | undefined;

/** Starts what the variables ask for, in the process of the test runner. */
export async function startRealServers(serverUrl: string): Promise<void> {
  if (process.env.TEST_PGBOUNCER === '1') {
    if (!PGBOUNCER_IS_INSTALLED) throw new Error('TEST_PGBOUNCER needs pgbouncer');
    pooler = await startPgBouncer(serverUrl, POOLED_CONNECTIONS);
    process.env.TEST_POOLER = new URL(pooler.urlOf(serverUrl)).host;
  }
  if (process.env.TEST_REDIS_CLUSTER === '1') {
    cluster = await RedisCluster.start();
    process.env.TEST_REDIS_URL = cluster.url;
    process.env.TEST_REDIS_NODES = cluster.environment.REDIS_NODES;
  }
}

export async function stopRealServers(): Promise<void> {
  await Promise.all([pooler?.stop(), cluster?.remove()]);
}

/** `DATABASE_URL`, `REDIS_URL` and what belongs to them. */
export function serverSettings(databaseUrl: string, redisUrl = createTestRedis().url): Record<string, string> {
  const pooledUrl = pooledUrlOf(databaseUrl);
  return {
    DATABASE_URL: pooledUrl ?? databaseUrl,
    ...(pooledUrl !== null && { DATABASE_DIRECT_URL: databaseUrl }),
    ...redisSettings(redisUrl),
  };
}

/** `REDIS_URL` and, if it leads to the cluster of this run, how to use it. */
export function redisSettings(redisUrl: string): Record<string, string> {
  const { TEST_REDIS_NODES: nodes, TEST_REDIS_URL: testUrl = '' } = process.env;
  const isCluster = nodes !== undefined && hostOf(redisUrl) === hostOf(testUrl);
  // A client of a cluster takes no options from the URL: the timeout without patience would be 250 ms.
  return isCluster
    ? { REDIS_URL: redisUrl, REDIS_MODE: 'cluster', REDIS_NODES: nodes, REDIS_TIMEOUT_MS: '60000' }
    : { REDIS_URL: redisUrl };
}

/** The servers of a client of `redisUrl`: those of the cluster of this run if it leads there. */
export function redisServersOf(redisUrl: string): RedisServers {
  const nodes = redisSettings(redisUrl).REDIS_NODES;
  const toNode = (address: string): RedisNode => {
    const { hostname: host, port } = new URL(`redis://${address}`);
    return { host, port: Number(port), username: null, password: null };
  };
  return { redisSentinels: null, redisCluster: nodes?.split(',').map(toNode) ?? null };
}

/**
 * `describe` for tests that need all keys on one Redis server, such as those with a proxy in front of it: a client of a
 * cluster finds the servers behind the proxy. Skipped on a cluster.
 */
export function describeOnOneRedis(name: string, tests: () => void): void {
  (process.env.TEST_REDIS_CLUSTER === '1' ? describe.skip : describe)(name, tests);
}

/** The same database through the pooler of this run; `null`: there is none, or the URL leads to another server. */
export function pooledUrlOf(databaseUrl: string): string | null {
  const { TEST_POOLER: host, TEST_DATABASE_URL: testUrl = '' } = process.env;
  if (host === undefined || hostOf(databaseUrl) !== hostOf(testUrl)) return null;
  const url = new URL(databaseUrl);
  url.host = host;
  return url.href;
}

function hostOf(url: string): string {
  return new URL(url).host;
}
