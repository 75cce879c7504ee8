/**
 * F-60. Clients that send their headers and bodies a byte a second. It takes minutes and compares times, so it runs
 * alone.
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chatBody, ChatLoad, durationOf } from './chat-load';
import { quantile, report } from './figures';
import { Operator } from './operator';

const SENDERS_EACH = 500;
const CALLERS = 16;
const WARM_UP_MS = 2_000;
const BASE_MS = 10_000;
const BYTE_EVERY_MS = 1_000;
const HEADERS_WITHIN_MS = 30_000;
const BODIES_WITHIN_MS = 60_000;

describe('slow senders', () => {
  let database: TestDatabase;
  let operator: Operator;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    gateway = await GatewayProcess.start({ databaseUrl: database.url, redisUrl: createTestRedis().url });
  });
  afterAll(async () => {
    await endChildren();
    await operator.close();
    await database.drop();
  });

  /** Sends `head` and then a byte a second. Resolves when the connection closes, with its duration and the response. */
  function drip(head: string): Promise<{ readonly openMs: number; readonly status: number }> {
    const openedAtMs = performance.now();
    const socket = connect(gateway.port, '127.0.0.1');
    let received = '';
    socket.on('error', () => undefined).on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    socket.write(head);
    const timer = setInterval(() => socket.write('a'), BYTE_EVERY_MS);
    return new Promise((resolve) => {
      socket.once('close', () => {
        clearInterval(timer);
        const [, status = '0'] = /^HTTP\/1\.1 (\d{3})/.exec(received) ?? [];
        resolve({ openMs: performance.now() - openedAtMs, status: Number(status) });
      });
    });
  }

  it('are disconnected after 30 s for headers and 60 s for a body, while the p99 of other requests at most doubles', async () => {
    const { key } = await operator.customer();
    const load = new ChatLoad(CALLERS, () => ({ url: gateway.url, key, body: chatBody('first_token=50ms delay=0') }));
    await delay(WARM_UP_MS);
    const baseFromMs = performance.now();
    await delay(BASE_MS);
    const fromMs = performance.now();
    const line = 'POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n';
    const body = `Authorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{"`;
    const times = async (head: string) => Promise.all(Array.from({ length: SENDERS_EACH }, () => drip(head)));
    const [heads, bodies] = await Promise.all([times(`${line}X-Slow: `), times(line + body)]);
    const untilMs = performance.now();
    const exchanges = await load.stop();

    const p99Between = (from: number, to: number): number =>
      quantile(exchanges.filter((one) => one.startedAtMs >= from && one.endedAtMs <= to).map(durationOf), 0.99);
    const figures = {
      heads: { slowestMs: slowest(heads), statuses: [...new Set(heads.map(({ status }) => status))] },
      bodies: { slowestMs: slowest(bodies), statuses: [...new Set(bodies.map(({ status }) => status))] },
      baseP99Ms: Math.round(p99Between(baseFromMs, fromMs)),
      meanwhileP99Ms: Math.round(p99Between(fromMs, untilMs)),
    };
    report('F-60', figures);
    expect(exchanges.filter(({ outcome }) => outcome !== 'complete')).toEqual([]);
    expect(figures.heads.slowestMs).toBeLessThanOrEqual(HEADERS_WITHIN_MS);
    expect(figures.bodies.slowestMs).toBeLessThanOrEqual(BODIES_WITHIN_MS);
    expect(figures.meanwhileP99Ms).toBeLessThanOrEqual(2 * figures.baseP99Ms);
  }, 180_000);
});

function slowest(drips: readonly { readonly openMs: number }[]): number {
  return Math.round(Math.max(...drips.map(({ openMs }) => openMs)));
}
