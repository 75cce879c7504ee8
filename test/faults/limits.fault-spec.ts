import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { ApiKeySettingsInput } from '../../src/auth/api-keys/api-key-settings';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { createCatalog } from '../harness/upstream-models';
import { chatBody, type ChatCall, ChatLoad, type Exchange, summarize } from './chat-load';
import { FULL, report, until } from './figures';
import { HoldingUpstream } from './holding-upstream';
import { Operator } from './operator';

const CALLERS = 16;
/** Settings of the upstream that holds all responses until every request has been admitted or refused. */
const HELD = { model: 'local/chat', max_tokens: 90, messages: [{ role: 'user', content: 'hi' }] };
const UNAVAILABLE = '503 service_unavailable';
const LOAD_MS = FULL ? 60_000 : 3_000;

/** One limit, two processes, more requests than it allows: together they must not admit one too many. */
describe('two gateway processes that share a limit', () => {
  let database: TestDatabase;
  let operator: Operator;
  let gateways: GatewayProcess[];
  const catalog = createCatalog();
  let upstream: HoldingUpstream;

  beforeAll(async () => {
    upstream = await HoldingUpstream.start();
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    const settings = {
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      catalogDir: catalog.path,
      environment: { OPENAI_COMPATIBLE_BASE_URL: upstream.baseUrl },
    };
    gateways = await Promise.all([GatewayProcess.start(settings), GatewayProcess.start(settings)]);
  });

  afterAll(async () => {
    await endChildren();
    await upstream.stop();
    await operator.close();
    await database.drop();
    catalog.remove();
  });

  const calls = (count: number, key: string, body = HELD): ChatCall[] =>
    Array.from({ length: count }, (_, index) => ({ url: urlOf(index), key, body }));
  const urlOf = (index: number): string => (gateways[index % gateways.length] as GatewayProcess).url;

  const admittedOf = (exchanges: readonly Exchange[]): Exchange[] =>
    exchanges.filter(({ outcome }) => outcome === 'complete');

  /** Sends until some requests were refused and `least` were admitted, within the time limit. */
  async function load(settings: ApiKeySettingsInput, directive: string, least: number): Promise<Exchange[]> {
    const { key } = await operator.customer(undefined, settings);
    const running = new ChatLoad(CALLERS, (index) => ({ url: urlOf(index), key, body: chatBody(directive) }));
    await delay(LOAD_MS);
    await until('admitted and refused requests', 30_000, () => {
      const admitted = admittedOf(running.exchanges).length;
      return admitted >= least && running.exchanges.length > admitted + CALLERS;
    });
    return [...(await running.stop())];
  }

  /** Outcomes that are not caused by a busy machine. */
  const endingsOf = (exchanges: readonly Exchange[]): string[] =>
    Object.keys(summarize(exchanges))
      .filter((ending) => FULL || ending !== UNAVAILABLE)
      .toSorted();

  it('of requests per minute admit exactly that many within a minute', async () => {
    const limit = FULL ? 600 : 60;
    const exchanges = await load({ requestsPerMinute: limit }, 'delay=0', limit);
    const startedAtMs = Math.min(...exchanges.map((exchange) => exchange.startedAtMs));
    const within = exchanges.filter(({ endedAtMs }) => endedAtMs < startedAtMs + 60_000);
    const admitted = admittedOf(within).length;
    // A request that a busy machine refuses after its admission still counts.
    const refused503 = FULL ? 0 : within.filter(({ code }) => code === 'service_unavailable').length;
    report('requests per minute', { limit, admitted, refused503, asked: within.length });
    expect(admitted).toBeLessThanOrEqual(limit);
    expect(admitted + refused503).toBeGreaterThanOrEqual(limit);
  });

  it('of requests per second never admit more within any second, and use the whole limit', async () => {
    const limit = 20;
    const exchanges = await load({ requestsPerSecond: limit }, 'delay=0', 2 * limit);
    const admitted = admittedOf(exchanges);
    admitted.sort((one, other) => one.startedAtMs - other.startedAtMs);
    // Each was decided between its start and its end: too many of them fully within one second exceed the limit.
    const over = admitted.filter((first, index) => {
      const row = admitted.slice(index, index + limit + 1);
      return row.length > limit && Math.max(...row.map(({ endedAtMs }) => endedAtMs)) - first.startedAtMs < 1_000;
    });
    const endedAtMs = Math.max(...exchanges.map((exchange) => exchange.endedAtMs));
    const seconds = (endedAtMs - Math.min(...exchanges.map(({ startedAtMs }) => startedAtMs))) / 1_000;
    report('requests per second', { limit, admitted: admitted.length, seconds });
    expect(over).toEqual([]);
    expect(admitted.length).toBeLessThanOrEqual(limit * seconds + limit);
    expect(admitted.length).toBeGreaterThanOrEqual(FULL ? 0.75 * limit * seconds : 2 * limit);
    expect(endingsOf(exchanges)).toEqual(['429 rate_limited', 'complete']);
  });

  it('of concurrent requests never admit more at once', async () => {
    const limit = 5;
    const heldMs = 200;
    const exchanges = await load({ concurrency: limit }, `first_token=${heldMs}`, limit + 1);
    const admitted = admittedOf(exchanges);
    // Each held its slot for this long, between its start and its end: it certainly had it in the middle.
    const at = (momentMs: number): number =>
      admitted.filter(
        ({ startedAtMs, endedAtMs }) => endedAtMs - heldMs + 5 < momentMs && momentMs < startedAtMs + heldMs - 5,
      ).length;
    const most = Math.max(...admitted.map(({ startedAtMs }) => at(startedAtMs + heldMs - 6)));
    report('requests in flight', { limit, most, admitted: admitted.length, asked: exchanges.length });
    expect(most).toBeLessThanOrEqual(limit);
    expect(admitted.length).toBeGreaterThan(limit);
    expect(endingsOf(exchanges)).toEqual(['429 concurrency_exceeded', 'complete']);
  });

  it('of concurrent requests admit exactly that many, repeatedly', async () => {
    const { key, keyId } = await operator.customer(undefined, { concurrency: 20 });
    const redis = new Redis(createTestRedis().url);
    const [deployment] = await operator.rows<{ id: string }>('SELECT id FROM deployment_identity');
    const prefix = deployment?.id.replaceAll('-', '').slice(0, 12);
    const slots = `${prefix}:gateway:limit:key:${keyId}:concurrency`;
    for (let round = 0; round < (FULL ? 20 : 2); round++) {
      // A slot is released at the end of the response, which the client can see before the other gateway does.
      await until('free slots', 10_000, async () => (await redis.zcard(slots)) === 0);
      const exchanges = await upstream.race(calls(60, key));
      expect(summarize(exchanges)).toEqual({ complete: 20, '429 concurrency_exceeded': 40 });
    }
    redis.disconnect();
  });

  it('of tokens per minute admit exactly as many estimates as fit', async () => {
    // A final refusal reports the token estimate. This model has no usage history yet that would change it.
    const body = { ...HELD, model: 'local/unbounded' };
    const { key: probe } = await operator.customer(undefined, { tokensPerMinute: 1 });
    let estimate = 0;
    await until('the estimate', 10_000, async () => {
      const refused = await fetch(`${urlOf(0)}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${probe}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const { error } = (await refused.json()) as { error: { details?: { estimated_tokens: number } } };
      estimate = error.details?.estimated_tokens ?? 0;
      return refused.status === 429;
    });
    const { key } = await operator.customer(undefined, { tokensPerMinute: 17 * estimate + estimate - 1 });
    const exchanges = await upstream.race(calls(60, key, body));
    expect(summarize(exchanges)).toEqual({ complete: 17, '429 tokens_per_minute_exceeded': 43 });
    expect(await operator.violations()).toEqual([]);
  });
});
