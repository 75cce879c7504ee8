import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from '../../src/core/redis/redis-client';

export interface TestRedis {
  /**
   * The test server. Clients of this URL wait for replies without a timeout: a process without CPU time on a busy
   * machine would otherwise detect an outage, and return 503.
   */
  readonly url: string;
  /** The same server, with the usual timeouts. */
  readonly strictUrl: string;
  /** Unique to this test. Remaining keys vanish with the server. */
  readonly keyPrefix: string;
}

export function createTestRedis(): TestRedis {
  const strictUrl = process.env.TEST_REDIS_URL;
  if (strictUrl === undefined) {
    throw new Error('TEST_REDIS_URL is not set: tests with services need the jest.config.js of this project');
  }
  return { url: patient(strictUrl), strictUrl, keyPrefix: `test:${randomUUID()}:` };
}

/** The URL of a Redis without timeouts. */
export function patient(strictUrl: string): string {
  const url = new URL(strictUrl);
  // URL parameters are applied before the options of the code; a value that is not a number means no limit.
  url.searchParams.set('commandTimeout', 'none');
  return url.href;
}

/**
 * Resolves when it is connected: to all nodes that answer, where it is a cluster. Retries what a busy machine delayed.
 */
export async function untilReady(redis: RedisClient): Promise<void> {
  while (redis.status !== 'ready') await once(redis, 'ready').catch(() => undefined);
  if (redis instanceof Cluster) await Promise.all(redis.nodes().map(untilConnectedOrEnded));
}

async function untilConnectedOrEnded(node: Redis): Promise<void> {
  if (node.status === 'ready' || node.status === 'end') return;
  await Promise.race([once(node, 'ready'), once(node, 'end')]).catch(() => undefined);
}
