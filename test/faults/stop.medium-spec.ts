import { connect } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody, type Exchange, summarize } from './chat-load';
import { report } from './figures';
import { type Customer, Operator } from './operator';

const STREAMS = 20;
const PLAIN_REQUESTS = 10;

describe('a gateway that is asked to stop', () => {
  let database: TestDatabase;
  let operator: Operator;
  let customer: Customer;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
  });
  beforeEach(async () => {
    customer = await operator.customer();
  });
  afterEach(endChildren);
  afterAll(async () => {
    await operator.close();
    await database.drop();
  });

  async function start(environment: Record<string, string> = {}): Promise<void> {
    gateway = await GatewayProcess.start({ databaseUrl: database.url, redisUrl: createTestRedis().url, environment });
  }

  function send(directive: string, fields: object = {}): Promise<Exchange> {
    return chat({ url: gateway.url, key: customer.key, body: chatBody(directive, fields) });
  }

  /** Streams and whole answers that take about two seconds; resolves when the gateway has admitted all of them. */
  async function beginRequests(): Promise<{ readonly ended: Promise<Exchange[]> }> {
    const ended = Promise.all([
      ...Array.from({ length: STREAMS }, () => send('chunks=40 delay=50ms', { stream: true })),
      ...Array.from({ length: PLAIN_REQUESTS }, () => send('first_token=2s')),
    ]);
    while ((await operator.heldCount()) < STREAMS + PLAIN_REQUESTS) await delay(10);
    return { ended };
  }

  it('finishes what it has accepted, says at once that it is not ready, takes nothing new, and ends with 0', async () => {
    await start();
    const { ended } = await beginRequests();

    const stoppedAtMs = performance.now();
    const stopping = gateway.stop();
    while ((await gateway.probe()) === 200) await delay(1);
    const unreadyMs = performance.now() - stoppedAtMs;
    const [probe, late] = await Promise.all([gateway.probe(), send('delay=0')]);
    const exchanges = await ended;

    expect(await stopping).toEqual({ code: 0, signal: null });
    const stopMs = performance.now() - stoppedAtMs;
    report('F-05', { clients: summarize(exchanges), unreadyMs: Math.round(unreadyMs), stopMs: Math.round(stopMs) });
    expect(summarize(exchanges)).toEqual({ complete: STREAMS + PLAIN_REQUESTS });
    expect(unreadyMs).toBeLessThan(100);
    expect(probe).toBe(503);
    expect(summarize([late])).toEqual({ '503 service_unavailable': 1 });
    expect(await operator.heldCount()).toBe(0);
    expect((await operator.charges(customer.organizationId)).size).toBe(exchanges.length);
    expect(await operator.violations()).toEqual([]);
  });

  it('does not wait for connections that ask for nothing', async () => {
    await start();
    const silent = connect(gateway.port, '127.0.0.1');
    await once(silent, 'connect');
    await send('delay=0');

    const stoppedAtMs = performance.now();
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - stoppedAtMs).toBeLessThan(3_000);
    silent.destroy();
  });

  it('cuts at its deadline what does not end, and charges what was delivered until then', async () => {
    await start({ DRAIN_TIMEOUT_MS: '500' });
    const endless = send('tokens=5000 delay=20ms', { stream: true });
    while ((await operator.heldCount()) < 1) await delay(10);
    await delay(200);

    expect(await gateway.stop('SIGINT')).toEqual({ code: 0, signal: null });
    expect(await endless).toMatchObject({ outcome: 'broken', status: 200 });
    expect(await operator.heldCount()).toBe(0);
    const [charge] = [...(await operator.charges(customer.organizationId)).values()];
    expect(charge).toBeGreaterThan(0);
  });
});
