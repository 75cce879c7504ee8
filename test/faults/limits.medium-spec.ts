import type { ApiKeySettingsInput } from '../../src/organizations/api-key-settings';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody, ChatLoad, type Exchange, summarize } from './chat-load';
import { FULL, report } from './figures';
import { Operator } from './operator';

const CALLERS = 16;
const LOAD_MS = FULL ? 60_000 : 3_000;

jest.setTimeout(FULL ? 120_000 : 30_000);

/** One limit, two processes, more requests than it allows: neither may let in one too many. */
describe('two gateway processes that share a limit', () => {
  let database: TestDatabase;
  let operator: Operator;
  let gateways: GatewayProcess[];

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    const settings = { databaseUrl: database.url, redisUrl: createTestRedis().url };
    gateways = await Promise.all([GatewayProcess.start(settings), GatewayProcess.start(settings)]);
  });

  afterAll(async () => {
    await endChildren();
    await operator.close();
    await database.drop();
  });

  const urlOf = (turn: number): string => (gateways[turn % gateways.length] as GatewayProcess).url;

  async function load(settings: ApiKeySettingsInput, directive: string, fields: object = {}): Promise<Exchange[]> {
    const { key } = await operator.customer(undefined, settings);
    const running = new ChatLoad(CALLERS, (turn) => ({ url: urlOf(turn), key, body: chatBody(directive, fields) }));
    await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
    return [...(await running.stop())];
  }

  it('of requests per minute admit exactly that many within a minute', async () => {
    const limit = FULL ? 600 : 60;
    const exchanges = await load({ requestsPerMinute: limit }, 'delay=0');
    const [first] = exchanges;
    const within = exchanges.filter(({ endedAtMs }) => endedAtMs < (first as Exchange).startedAtMs + 60_000);
    const admitted = summarize(within).complete;
    report('requests per minute', { limit, admitted, asked: within.length });
    expect(admitted).toBe(limit);
  });

  it('of requests per second never admit more within any second, and use what they may', async () => {
    const limit = 20;
    const exchanges = await load({ requestsPerSecond: limit }, 'delay=0');
    const admitted = exchanges.filter(({ outcome }) => outcome === 'complete');
    admitted.sort((one, other) => one.startedAtMs - other.startedAtMs);
    // Each was judged between its beginning and its end: so many of them wholly within a second are one too many.
    const over = admitted.filter((first, index) => {
      const row = admitted.slice(index, index + limit + 1);
      return row.length > limit && Math.max(...row.map(({ endedAtMs }) => endedAtMs)) - first.startedAtMs < 1_000;
    });
    report('requests per second', { limit, admitted: admitted.length, seconds: LOAD_MS / 1_000 });
    expect(over).toEqual([]);
    expect(admitted.length).toBeLessThanOrEqual((limit * LOAD_MS) / 1_000 + limit);
    expect(admitted.length).toBeGreaterThanOrEqual((0.75 * limit * LOAD_MS) / 1_000);
    expect(Object.keys(summarize(exchanges)).toSorted()).toEqual(['429 rate_limited', 'complete']);
  });

  it('of requests in flight never admit more at once', async () => {
    const limit = 5;
    const heldMs = 200;
    const exchanges = await load({ concurrency: limit }, `first_token=${heldMs}`);
    const admitted = exchanges.filter(({ outcome }) => outcome === 'complete');
    // Each had its slot for so long, somewhere between its beginning and its end: in the middle of that it must have.
    const at = (momentMs: number): number =>
      admitted.filter(
        ({ startedAtMs, endedAtMs }) => endedAtMs - heldMs + 5 < momentMs && momentMs < startedAtMs + heldMs - 5,
      ).length;
    const most = Math.max(...admitted.map(({ startedAtMs }) => at(startedAtMs + heldMs - 6)));
    report('requests in flight', { limit, most, admitted: admitted.length, asked: exchanges.length });
    expect(most).toBeLessThanOrEqual(limit);
    expect(admitted.length).toBeGreaterThan(limit);
    expect(Object.keys(summarize(exchanges)).toSorted()).toEqual(['429 concurrency_exceeded', 'complete']);
  });

  it('of requests in flight admit exactly that many of many at once, again and again', async () => {
    const { key } = await operator.customer(undefined, { concurrency: 20 });
    for (let round = 0; round < (FULL ? 20 : 2); round++) {
      const exchanges = await Promise.all(
        Array.from({ length: 60 }, (_, turn) => chat({ url: urlOf(turn), key, body: chatBody('first_token=1500') })),
      );
      expect(summarize(exchanges)).toEqual({ complete: 20, '429 concurrency_exceeded': 40 });
    }
  });

  it('of tokens per minute admit exactly as many estimates as fit', async () => {
    const fields = { max_tokens: 90 };
    const body = chatBody('first_token=1500', fields);
    const large = 1_000_000;
    const { key: probe } = await operator.customer(undefined, { tokensPerMinute: large });
    const reply = await fetch(`${urlOf(0)}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${probe}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await reply.text();
    const estimate = large - Number(reply.headers.get('x-ratelimit-remaining-tokens'));
    const { key } = await operator.customer(undefined, { tokensPerMinute: 17 * estimate + estimate - 1 });
    const exchanges = await Promise.all(Array.from({ length: 60 }, (_, turn) => chat({ url: urlOf(turn), key, body })));
    expect(summarize(exchanges)).toEqual({ complete: 17, '429 tokens_per_minute_exceeded': 43 });
    expect(await operator.violations()).toEqual([]);
  });
});
