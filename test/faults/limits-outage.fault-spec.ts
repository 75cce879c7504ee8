import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { chat, chatBody, ChatLoad, type Exchange, summarize } from './chat-load';
import { allowedMs, FULL, report, until } from './figures';
import { type Customer, Operator } from './operator';
import { RedisProcess } from './redis-process';

const CALLERS = 4;
const ANSWER_WITHIN_MS = allowedMs(300);
const BACK_WITHIN_MS = allowedMs(1_000);
const OUTAGE_MS = FULL ? 10_000 : 1_500;

/** F-30 and F-31: while Redis is unavailable, every request is refused quickly. */
describe('a gateway whose Redis', () => {
  let database: TestDatabase;
  let operator: Operator;
  let redis: RedisProcess;
  let gateway: GatewayProcess;
  let customers: Customer[];

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    redis = await RedisProcess.start();
    gateway = await GatewayProcess.start({ databaseUrl: database.url, redisUrl: redis.url });
    customers = await Promise.all([operator.customer(), operator.customer(undefined, { concurrency: 100 })]);
  });
  afterAll(async () => {
    await endChildren();
    await redis.stop();
    await operator.close();
    await database.drop();
  });

  const call = (index: number) => ({
    url: gateway.url,
    key: (customers[index % customers.length] as Customer).key,
    body: chatBody('delay=0', { stream: index % 3 === 0 }),
  });
  const durations = (exchanges: readonly Exchange[]): number[] =>
    exchanges.map(({ startedAtMs, endedAtMs }) => Math.round(endedAtMs - startedAtMs)).toSorted((a, b) => a - b);

  it.each<[string, () => Promise<void> | void, () => Promise<void> | void]>([
    ['is killed', () => redis.stop(), () => redis.restart()],
    ['hangs', () => redis.suspend(), () => redis.resume()],
  ])(
    '%s admits nothing, returns 503 within 300 ms, and serves again within a second of its recovery',
    async (what, take, giveBack) => {
      const load = new ChatLoad(CALLERS, call);
      await delay(500);
      await take();
      // A stopping process may have responses in transit.
      while ((await chat(call(0))).outcome === 'complete');
      const goneAtMs = performance.now();
      await delay(OUTAGE_MS);
      await until('refusals', 10_000, () => {
        const since = load.exchanges.filter(({ startedAtMs }) => startedAtMs > goneAtMs);
        return since.length > CALLERS;
      });
      const models = await fetch(`${gateway.url}/v1/models`, {
        headers: { authorization: `Bearer ${(customers[0] as Customer).key}` },
      });
      const stillGoneMs = performance.now();
      await giveBack();
      const backAtMs = performance.now();
      let firstAgain: Exchange;
      do firstAgain = await chat(call(0));
      while (firstAgain.outcome !== 'complete');
      const exchanges = await load.stop();
      const during = exchanges.filter(
        ({ startedAtMs, endedAtMs }) => startedAtMs > goneAtMs && endedAtMs < stillGoneMs,
      );

      const tookMs = durations(during);
      const medianMs = tookMs[tookMs.length >> 1];
      const slowestMs = tookMs.at(-1) ?? Infinity;
      report(`Redis ${what}`, {
        refused: during.length,
        medianMs,
        slowestMs,
        backAfterMs: Math.round(firstAgain.endedAtMs - backAtMs),
      });
      expect(summarize(during)).toEqual({ '503 service_unavailable': during.length });
      expect(during.length).toBeGreaterThan(CALLERS);
      expect(slowestMs).toBeLessThanOrEqual(ANSWER_WITHIN_MS);
      expect(models.status).toBe(200);
      expect(firstAgain.endedAtMs - backAtMs).toBeLessThanOrEqual(BACK_WITHIN_MS);
      const endings = Object.keys(summarize(exchanges));
      expect(endings.filter((ending) => ending !== 'complete' && ending !== '503 service_unavailable')).toEqual([]);
    },
  );
});
