import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream } from '../conformance/fake-upstream';
import { endChildren, findFreePort } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chunk, createCatalog, event, usageChunk } from '../harness/upstream-models';
import { chat, chatUntilServed, type Exchange, summarize } from './chat-load';
import { report, until } from './figures';
import { type Customer, Operator } from './operator';

const STREAMS = 50;
const SHUTDOWN_DELAY_MS = 1_500;

describe('a gateway that is stopped behind a load balancer', () => {
  const catalog = createCatalog();
  let upstream: FakeUpstream;
  let database: TestDatabase;
  let operator: Operator;
  let customer: Customer;
  let gateway: GatewayProcess;
  let managementUrl: string;

  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    customer = await operator.customer();
  });
  afterEach(endChildren);
  afterAll(async () => {
    await upstream.stop();
    await operator.close();
    await database.drop();
    catalog.remove();
  });

  async function start(shutdownDelayMs: number): Promise<void> {
    // The management port cannot choose one itself: 0 disables it.
    const port = await findFreePort();
    managementUrl = `http://127.0.0.1:${port}`;
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      catalogDir: catalog.path,
      environment: {
        OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
        MANAGEMENT_PORT: String(port),
        SHUTDOWN_DELAY_MS: String(shutdownDelayMs),
      },
    });
  }

  const probe = async (path: string): Promise<number> => (await fetch(`${managementUrl}${path}`)).status;
  const ask = (stream: boolean, send = chatUntilServed): Promise<Exchange> => {
    const messages = [{ role: 'user', content: 'hi' }];
    return send({ url: gateway.url, key: customer.key, body: { model: 'local/chat', stream, messages } });
  };

  it('refuses no request before /serving was 503 for the whole delay, and cuts no stream', async () => {
    const waiting: (() => void)[] = [];
    upstream.answer = (response, { body }) => {
      response.setHeader('content-type', 'text/event-stream');
      if (JSON.parse(body).stream !== true) {
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({
            id: 'c',
            choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
            usage: { prompt_tokens: 10, completion_tokens: 5 },
          }),
        );
        return;
      }
      response.write(chunk({ role: 'assistant', content: 'Hello' }));
      waiting.push(() => response.end(chunk({}, 'stop') + usageChunk(10, 5) + event('[DONE]')));
    };
    await start(SHUTDOWN_DELAY_MS);
    expect([await probe('/live'), await probe('/serving')]).toEqual([200, 200]);
    const streams = Promise.all(Array.from({ length: STREAMS }, () => ask(true)));
    await until('the streams', 20_000, () => waiting.length === STREAMS);

    const stoppedAtMs = performance.now();
    const stopping = gateway.stop();
    while ((await probe('/serving')) === 200) await delay(1);
    // Clients of a balancer that has not noticed yet keep sending.
    let served = 0;
    let refusedAfterMs: number | null = null;
    while (refusedAfterMs === null) {
      const reply = summarize([await ask(false, chat)]);
      if ('complete' in reply) served++;
      else if ('503 service_unavailable' in reply) refusedAfterMs = performance.now() - stoppedAtMs;
      else throw new Error(JSON.stringify(reply));
    }
    expect([await probe('/live'), await probe('/serving'), await probe('/ready')]).toEqual([200, 503, 503]);
    waiting.forEach((finish) => finish());
    const exchanges = await streams;

    expect(await stopping).toEqual({ code: 0, signal: null });
    report('rolling stop', { streams: summarize(exchanges), served, refusedAfterMs: Math.round(refusedAfterMs) });
    expect(summarize(exchanges)).toEqual({ complete: STREAMS });
    // From before the signal until after the refusal: a stalled machine only adds to it. Timers may fire 1 ms early.
    expect(refusedAfterMs).toBeGreaterThan(SHUTDOWN_DELAY_MS - 10);
    expect(await operator.violations()).toEqual([]);
  });

  it('exits at once on a second signal', async () => {
    await start(600_000);
    const stopping = gateway.stop();
    while ((await probe('/serving')) === 200) await delay(1);
    // A signal within half a second is the same Ctrl-C.
    await delay(600);
    await gateway.stop();
    expect(await stopping).toEqual({ code: 1, signal: null });
  });
});
