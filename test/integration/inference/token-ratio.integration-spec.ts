import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { TokenRatios } from '../../../src/inference/token-estimate';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { createRedis } from '../../../src/core/redis/redis-client';
import { createTestRedis, untilReady } from '../../harness/redis';

const DAY_SECONDS = 86_400;
const model = { id: 'vendor/model', tokensPerByte: 0.25 };
let redis: Redis;
const opened: Redis[] = [];

beforeAll(async () => {
  redis = await open('');
});
afterAll(() => opened.forEach((connection) => connection.disconnect()));

async function open(keyPrefix: string): Promise<Redis> {
  const connection = createRedis(createTestRedis().url, { keyPrefix });
  opened.push(connection);
  await untilReady(connection);
  return connection;
}

const start = async (deployment: string): Promise<TokenRatios> => new TokenRatios(await open(`${deployment}:`));

function learn(ratios: TokenRatios): void {
  for (let time = 0; time < 500; time++) {
    ratios.observe(model, { textBytes: 10_000, fixedTokens: 0 }, { ...NO_USAGE, inputText: 4_000 });
  }
}

it('a ratio that one process has learned reaches the next process, and is kept for weeks', async () => {
  const database = randomUUID();
  const first = await start(database);
  learn(first);
  await first.beforeApplicationShutdown();
  const next = await start(database);
  await next.onApplicationBootstrap();
  expect(next.of(model)).toBeCloseTo(0.4, 3);
  expect(await redis.ttl(`${database}:gateway:token-ratios`)).toBeGreaterThan(29 * DAY_SECONDS);
  await next.beforeApplicationShutdown();
});

it('installations with databases of their own learn nothing from each other', async () => {
  const mine = await start(randomUUID());
  learn(mine);
  await mine.share();
  const other = await start(randomUUID());
  await other.share();
  expect(other.of(model)).toBe(0.25);
});
