import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { TokenRatios } from '../../../src/inference/inference-input';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { createRedis } from '../../../src/core/redis/redis.module';
import { createTestRedis, untilReady } from '../../harness/redis';

const DAY_SECONDS = 86_400;
const model = { id: 'vendor/model', tokensPerByte: 0.25 };
let redis: Redis;

beforeAll(async () => {
  redis = createRedis(createTestRedis().url);
  await untilReady(redis);
});
afterAll(() => redis.disconnect());

const start = (database: string): TokenRatios => new TokenRatios(redis, { databaseUrl: `postgres://host/${database}` });

function learn(ratios: TokenRatios): void {
  for (let time = 0; time < 500; time++) {
    ratios.observe(model, { textBytes: 10_000, fixedTokens: 0 }, { ...NO_USAGE, inputText: 4_000 });
  }
}

it('what one process has learned is known to the next one, and kept for weeks', async () => {
  const database = randomUUID();
  const first = start(database);
  learn(first);
  await first.beforeApplicationShutdown();
  const next = start(database);
  await next.onApplicationBootstrap();
  expect(next.of(model)).toBeCloseTo(0.4, 3);
  expect(await redis.ttl(`gateway:token-ratios:${database}`)).toBeGreaterThan(29 * DAY_SECONDS);
  await next.beforeApplicationShutdown();
});

it('installations with databases of their own learn nothing from each other', async () => {
  const mine = start(randomUUID());
  learn(mine);
  await mine.share();
  const other = start(randomUUID());
  await other.share();
  expect(other.of(model)).toBe(0.25);
});
