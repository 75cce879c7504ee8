import { setImmediate as nextIteration } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { renderMetrics } from '../../../src/core/observability/metrics/exposition';
import { until } from '../../faults/figures';
import { TestGateway, type TestCustomer } from '../../harness/gateway';

const PATH = '/v1/chat/completions';
const CONCURRENCY = 3;
const chat = (directive: string): object => ({
  model: 'mock/chat-1',
  messages: [{ role: 'user', content: `[[mock: ${directive}]]` }],
});

let gateway: TestGateway;
let customer: TestCustomer;
beforeAll(async () => {
  gateway = await TestGateway.start({ OVERLOAD_CONCURRENCY: String(CONCURRENCY), LOG_REQUESTS: 'all' });
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

/** Keeps the event loop, which the gateway shares with the test, permanently busy. */
async function keepBusyUntil(isEnough: () => boolean): Promise<void> {
  while (!isEnough()) await nextIteration();
}

async function askUntil(status: number): Promise<Awaited<ReturnType<TestGateway['call']>>> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline;) {
    const reply = await gateway.call(PATH, { key: customer.key, body: chat('delay=0') });
    if (reply.status === status) return reply;
  }
  throw new Error(`no response had status ${status}`);
}

/** The counter of chat completions that the gateway failed, such as refusals of an overload. */
async function failures(): Promise<number> {
  const text = await renderMetrics(gateway.app.get(Metrics, { strict: false }).registry);
  const series =
    /^gateway_requests_total\{operation="createChatCompletion",model="other",outcome="internal_error",streamed="false"\} (\d+)$/m;
  return Number(series.exec(text)?.[1] ?? 0);
}

it('an overloaded process refuses new requests, answers probes, and serves again after it recovers', async () => {
  const log = jest.spyOn(Logger.prototype, 'log');
  const warn = jest.spyOn(Logger.prototype, 'warn');
  let busy = true;
  const spinning = keepBusyUntil(() => !busy);
  const underWay = Array.from({ length: CONCURRENCY + 1 }, () =>
    gateway.call(PATH, { key: customer.key, body: chat('first_token=10s delay=0') }),
  );
  const refusal = await askUntil(503);
  expect(refusal.json.error.code).toBe('service_unavailable');
  expect([refusal.headers.get('retry-after'), refusal.headers.get('x-should-retry')]).toEqual(['1', 'true']);
  expect((await gateway.call('/health')).status).toBe(200);
  // Skipped while one of its servers is slow.
  await until('readiness', 10_000, async () => (await gateway.call('/ready')).status === 200);
  busy = false;
  await spinning;
  expect((await Promise.all(underWay)).map(({ status }) => status)).toEqual(underWay.map(() => 200));
  expect((await askUntil(200)).status).toBe(200);

  // Refusals are counted, and the log has a line for the overload, not for each of them.
  expect(await failures()).toBeGreaterThan(0);
  expect(warn).toHaveBeenCalledWith(expect.objectContaining({ event: 'overload_started' }));
  const ended = log.mock.calls.map(([line]) => line as { event?: string; status?: number });
  expect(new Set(ended.filter(({ event }) => event === 'request_ended').map(({ status }) => status))).toEqual(
    new Set([200]),
  );
  expect(await gateway.violations()).toEqual([]);
});
