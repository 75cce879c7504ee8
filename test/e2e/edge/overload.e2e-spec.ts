import { setImmediate as nextIteration } from 'node:timers/promises';
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
  gateway = await TestGateway.start({ OVERLOAD_CONCURRENCY: String(CONCURRENCY) });
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

it('an overloaded process refuses new requests, answers probes, and serves again after it recovers', async () => {
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
  expect(await gateway.violations()).toEqual([]);
});
