import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { describeWith } from '../harness/external-program';
import { RedisServer } from '../harness/redis-servers';
import { chat, chatBody, ChatLoad, summarize } from './chat-load';
import { allowedMs, report, until } from './figures';
import { Operator } from './operator';

const CALLERS = 8;
const OUTAGE_MS = 2_000;
const BACK_WITHIN_MS = 1_000;

describeWith('redis-server', () => {
  let database: TestDatabase;
  let operator: Operator;
  let redis: RedisServer;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    redis = await RedisServer.start(['maxmemory-policy noeviction']);
    gateway = await GatewayProcess.start({ databaseUrl: database.url, redisUrl: redis.url });
  });
  afterAll(async () => {
    await endChildren();
    await redis.remove();
    await operator.close();
    await database.drop();
  });

  it('at its memory limit makes a gateway answer 503, never unlimited, and serve again by itself (F-33, F-67)', async () => {
    // No limit of concurrency: a script that has freed a slot may go on writing, and counts the next request correctly
    // (Redis, `scriptVerifyOOM`: memory is checked before the first write).
    const { organizationId, key } = await operator.customer(undefined, { requestsPerMinute: 1_000_000 });
    const call = (index: number) => ({
      url: gateway.url,
      key,
      body: chatBody('delay=0', { stream: index % 3 === 0 }),
    });
    const load = new ChatLoad(CALLERS, call);
    await until('an answer', 20_000, () => load.exchanges.some(({ outcome }) => outcome === 'complete'));
    // The limit moves to the memory, which on a server under load is more exact than the reverse.
    await redis.client.config('SET', 'maxmemory', '1mb');
    await expect(redis.client.set('any', 'value')).rejects.toThrow('OOM');
    // Requests that were admitted before.
    while ((await chat(call(1))).outcome === 'complete');
    const fullAtMs = performance.now();
    await delay(OUTAGE_MS);
    await until('refusals', 20_000, () => load.exchanges.filter(isAfter(fullAtMs)).length > CALLERS);
    const during = load.exchanges.filter(isAfter(fullAtMs));
    const models = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    await redis.client.config('SET', 'maxmemory', '0');
    const freeAtMs = performance.now();
    await until('the first 200', BACK_WITHIN_MS, async () => (await chat(call(1))).outcome === 'complete');
    const backMs = performance.now() - freeAtMs;
    const exchanges = await load.stop();

    report('Redis at its memory limit', { clients: summarize(exchanges), backMs: Math.round(backMs) });
    expect(Object.keys(summarize(during))).toEqual(['503 service_unavailable']);
    expect(models.status).toBe(200);
    expect(backMs).toBeLessThanOrEqual(allowedMs(BACK_WITHIN_MS));
    const unexpected = Object.keys(summarize(exchanges)).filter(
      (ending) => ending !== 'complete' && ending !== '503 service_unavailable',
    );
    expect(unexpected).toEqual([]);
    await until('the end of all holds', 30_000, async () => (await operator.heldCount()) === 0);
    const charges = await operator.charges(organizationId);
    const wrong = exchanges.filter(({ outcome, requestId, costMicro }) =>
      outcome === 'complete' ? charges.get(requestId ?? '') !== costMicro : charges.has(requestId ?? ''),
    );
    expect(wrong).toEqual([]);
    expect(gateway.child.hasExited).toBe(false);
    expect(await operator.violations()).toEqual([]);
  });
});

function isAfter(instantMs: number): (exchange: { readonly startedAtMs: number }) => boolean {
  return ({ startedAtMs }) => startedAtMs > instantMs;
}
