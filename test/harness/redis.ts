import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Redis } from 'ioredis';

export interface TestRedis {
  /**
   * The test server. Whoever connects to this URL waits for its answers as long as they take: a process that gets no share
   * of a busy machine for a moment would otherwise take that for an outage, and answer 503.
   */
  readonly url: string;
  /** The same server, of which answers are expected in time. */
  readonly strictUrl: string;
  /** What no other test uses. Keys left behind vanish with the server. */
  readonly keyPrefix: string;
}

export function createTestRedis(): TestRedis {
  const strictUrl = process.env.TEST_REDIS_URL;
  if (strictUrl === undefined) {
    throw new Error('TEST_REDIS_URL is not set: tests with services need the jest.config.js of this project');
  }
  return { url: patient(strictUrl), strictUrl, keyPrefix: `test:${randomUUID()}:` };
}

/** The URL of a Redis that is waited for. */
export function patient(strictUrl: string): string {
  const url = new URL(strictUrl);
  // Parameters of the URL come before the options of the code; one that is no number is no limit.
  url.searchParams.set('commandTimeout', 'none');
  return url.href;
}

/** Resolves when it is connected. An attempt that a busy machine made too late is not the last one. */
export async function untilReady(redis: Redis): Promise<void> {
  while (redis.status !== 'ready') await once(redis, 'ready').catch(() => undefined);
}
