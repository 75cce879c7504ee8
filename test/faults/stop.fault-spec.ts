import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream } from '../conformance/fake-upstream';
import { answerWhole } from '../e2e/idempotency/keyed-gateway';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chunk, createCatalog, event, usageChunk } from '../harness/upstream-models';
import { chat, chatBody, chatUntilServed, type Exchange, summarize } from './chat-load';
import { allowedMs, report, until } from './figures';
import { type Customer, Operator } from './operator';
import { RawStream } from './raw-stream';

const STREAMS = 20;
const PLAIN_REQUESTS = 10;

describe('a gateway that receives SIGTERM', () => {
  const catalog = createCatalog();
  let upstream: FakeUpstream;
  let database: TestDatabase;
  let operator: Operator;
  let customer: Customer;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
  });
  beforeEach(async () => {
    customer = await operator.customer();
  });
  afterEach(endChildren);
  afterAll(async () => {
    await upstream.stop();
    await operator.close();
    await database.drop();
    catalog.remove();
  });

  async function start(environment: Record<string, string> = {}): Promise<void> {
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      catalogDir: catalog.path,
      environment: { OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`, ...environment },
    });
  }

  function send(directive: string, fields: object = {}): Promise<Exchange> {
    return chat({ url: gateway.url, key: customer.key, body: chatBody(directive, fields) });
  }

  /** Started streams and unanswered requests: the upstream keeps all of them waiting. */
  async function beginRequests(): Promise<{ readonly ended: Promise<Exchange[]>; release(): void }> {
    const waiting: (() => void)[] = [];
    upstream.answer = (response, { body }) => {
      if (JSON.parse(body).stream === true) {
        response.setHeader('content-type', 'text/event-stream').write(chunk({ role: 'assistant', content: 'Hello' }));
        waiting.push(() => response.end(chunk({}, 'stop') + usageChunk(10, 5) + event('[DONE]')));
      } else {
        waiting.push(() => answerWhole(response, 'Hello'));
      }
    };
    const ask = (stream: boolean) => {
      const messages = [{ role: 'user', content: 'hi' }];
      return chatUntilServed({ url: gateway.url, key: customer.key, body: { model: 'local/chat', stream, messages } });
    };
    const ended = Promise.all([
      ...Array.from({ length: STREAMS }, () => ask(true)),
      ...Array.from({ length: PLAIN_REQUESTS }, () => ask(false)),
    ]);
    await until('the calls of the upstream', 10_000, () => waiting.length === STREAMS + PLAIN_REQUESTS);
    return { ended, release: () => waiting.forEach((answer) => answer()) };
  }

  it('completes accepted requests, reports not ready at once, refuses new requests, and exits with 0', async () => {
    await start();
    const { ended, release } = await beginRequests();

    const stoppedAtMs = performance.now();
    const stopping = gateway.stop();
    while ((await gateway.probe()) === 200) await delay(1);
    const unreadyMs = performance.now() - stoppedAtMs;
    const [probe, late] = await Promise.all([gateway.probe(), send('delay=0')]);
    release();
    const exchanges = await ended;

    expect(await stopping).toEqual({ code: 0, signal: null });
    const stopMs = performance.now() - stoppedAtMs;
    report('F-05', { clients: summarize(exchanges), unreadyMs: Math.round(unreadyMs), stopMs: Math.round(stopMs) });
    expect(summarize(exchanges)).toEqual({ complete: STREAMS + PLAIN_REQUESTS });
    expect(unreadyMs).toBeLessThan(allowedMs(100));
    expect(probe).toBe(503);
    expect(summarize([late])).toEqual({ '503 service_unavailable': 1 });
    expect(await operator.heldCount()).toBe(0);
    expect((await operator.charges(customer.organizationId)).size).toBe(exchanges.length);
    expect(await operator.violations()).toEqual([]);
  });

  it('does not wait for idle connections', async () => {
    // Longer than the shutdown of a gateway that waited for the connection.
    await start({ DRAIN_TIMEOUT_MS: '600000' });
    const silent = connect(gateway.port, '127.0.0.1');
    await once(silent, 'connect');
    await send('delay=0');

    const stoppedAtMs = performance.now();
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - stoppedAtMs).toBeLessThan(allowedMs(3_000));
    silent.destroy();
  });

  it('interrupts unfinished requests at its deadline, and charges the delivered part', async () => {
    await start({ DRAIN_TIMEOUT_MS: '500' });
    const body = chatBody('tokens=5000 delay=20ms', { stream: true });
    const endless = new RawStream({ url: gateway.url, key: customer.key, body });
    await until('the first words', 10_000, () => endless.received.split('data: ').length > 5);

    expect(await gateway.stop('SIGINT')).toEqual({ code: 0, signal: null });
    await endless.closed;
    expect(endless.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(endless.received).not.toContain('[DONE]');
    expect(await operator.heldCount()).toBe(0);
    const [charge] = [...(await operator.charges(customer.organizationId)).values()];
    expect(charge).toBeGreaterThan(0);
  });
});
