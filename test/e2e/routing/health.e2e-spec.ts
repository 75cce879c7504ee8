import { setTimeout as delay } from 'node:timers/promises';
import { HealthService } from '../../../src/models/routing/health.service';
import { allowedMs } from '../../faults/figures';
import { settle } from '../../harness/event-loop';
import { chunk } from '../../harness/upstream-models';
import { answers, COST, hangs, PATH, refuses, TwoUpstreams } from './two-upstreams';

/** Longer than the time between two requests on a busy machine. */
const OPEN_MS = 5_000;
const PLACES = 4;
const ENVIRONMENT = {
  CIRCUIT_BREAKER_FAILURES: '5',
  CIRCUIT_BREAKER_OPEN_MS: String(OPEN_MS),
  PROVIDER_MAX_CONCURRENCY: String(PLACES),
};

let world: TwoUpstreams;
// Each test begins with healthy deployments.
beforeEach(async () => {
  world = await TwoUpstreams.start(ENVIRONMENT);
  await world.reset();
});
afterEach(() => world.stop());

const once = { routing: { max_attempts: 1 } };
const statuses = async (count: number, model: string, fields: object = {}): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, async () => (await world.call(model, fields)).status));

describe('circuit breaker of a failing deployment (F-58)', () => {
  it('opens after five failures, half-opens for one probe request, and closes after it succeeds', async () => {
    world.first.answer = refuses(500);
    let openedAfterMs = 0;
    for (let time = 0; time < 5; time++) {
      openedAfterMs = performance.now();
      expect((await world.call('local/solo', once)).status).toBe(503);
    }
    expect(world.calls).toEqual([5, 0]);

    const away = await world.call('local/solo');
    const openForMs = performance.now() - openedAfterMs;
    expect(away.json.error.code).toBe('no_provider_available');
    expect(away.json.error.retry_after).toBeGreaterThanOrEqual(Math.ceil((OPEN_MS - openForMs) / 1_000));
    expect(away.json.error.retry_after).toBeLessThanOrEqual(OPEN_MS / 1_000);
    expect(world.calls).toEqual([5, 0]);
    // The provider's other deployments and the other provider keep separate state.
    expect((await world.call('local/reserve')).status).toBe(200);

    await delay(OPEN_MS);
    // As many concurrent requests as there are slots: one probes the deployment, and fails.
    const tried = await statuses(PLACES, 'local/solo', once);
    expect(tried).toEqual([503, 503, 503, 503]);
    expect(world.calls).toEqual([6, 1]);

    world.first.answer = answers;
    await delay(OPEN_MS);
    expect((await world.call('local/solo')).status).toBe(200);
    expect(await statuses(PLACES, 'local/solo')).toEqual([200, 200, 200, 200]);
  });

  it('fails over to the next deployment at no extra cost to customers', async () => {
    world.first.answer = refuses(500);
    for (let time = 0; time < 5; time++) expect((await world.call('local/pair')).status).toBe(200);
    const [callsOfFirst] = world.calls;
    // Each request makes two attempts, so the fifth failure occurs in the third request.
    expect(callsOfFirst).toBe(5);
    expect(await statuses(PLACES, 'local/pair')).toEqual([200, 200, 200, 200]);
    expect(world.calls).toEqual([callsOfFirst, 9]);
    expect(await world.spent()).toEqual({ paid: 9 * COST.second, held: 0 });
  });

  it('opens also after failures in mid-response', async () => {
    world.first.answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(chunk({ role: 'assistant', content: 'Hello' }));
      void settle(20).then(() => response.destroy());
    };
    for (let time = 0; time < 5; time++) await world.call('local/pair', { stream: true });
    expect(world.calls).toEqual([5, 0]);
    await world.call('local/pair', { stream: true });
    expect(world.calls).toEqual([5, 1]);
  });
});

it('circuit breaker state is shared between processes, which send one probe together', async () => {
  const replica = await world.startReplica();
  try {
    const { key } = await replica.customer();
    const body = { model: 'local/solo', messages: [{ role: 'user', content: 'hi' }], ...once };
    const ask = async (): Promise<string> => (await replica.call(PATH, { key, body })).json.error?.code;
    world.first.answer = refuses(500);
    for (let time = 0; time < 5; time++) await world.call('local/solo', once);
    const [deployment] = await replica.rows<{ id: string }>(`SELECT id FROM deployment WHERE model_id = 'local/solo'`);
    const health = replica.app.get(HealthService, { strict: false }).healthOf(deployment?.id ?? '');
    const startMs = performance.now();
    while (!health.isOpen) await delay(5);
    expect(performance.now() - startMs).toBeLessThan(allowedMs(1_000));
    expect(await ask()).toBe('no_provider_available');
    expect(world.calls).toEqual([5, 0]);

    await delay(OPEN_MS);
    await Promise.all([ask(), world.call('local/solo', once), ask(), world.call('local/solo', once)]);
    expect(world.calls).toEqual([6, 0]);
  } finally {
    await replica.stop();
  }
});

describe('customer errors', () => {
  it('do not open the circuit breaker: refused content, unknown statuses, expired timeout_ms', async () => {
    world.first.answer = refuses(400, { type: 'invalid_request_error' });
    for (let time = 0; time < 6; time++) await world.call('local/solo', once);
    world.first.answer = refuses(418);
    for (let time = 0; time < 6; time++) await world.call('local/solo', once);
    world.first.answer = hangs;
    await Promise.all(Array.from({ length: PLACES }, () => world.call('local/solo', { routing: { timeout_ms: 50 } })));
    for (let time = 0; time < 4; time++) await world.call('local/solo', { routing: { timeout_ms: 20 } });
    world.first.answer = answers;
    expect((await world.call('local/solo')).status).toBe(200);
  });

  it('do not open the circuit breaker: disconnects', async () => {
    world.first.answer = hangs;
    for (let time = 1; time <= 8; time++) {
      const abort = new AbortController();
      const left = world.call('local/solo', {}, abort.signal).catch(() => undefined);
      while (world.calls[0] < time) await delay(5);
      abort.abort();
      await left;
    }
    world.first.answer = answers;
    expect((await world.call('local/solo')).status).toBe(200);
  });

  it('do not open the circuit breaker of the mock, whose failures are requested', async () => {
    const messages = [{ role: 'user', content: '[[mock: status=429 retry_after=1e9]]' }];
    for (let time = 0; time < 6; time++) {
      expect((await world.call('mock/chat-1', { messages })).status).toBe(429);
    }
    expect((await world.call('mock/chat-1')).status).toBe(200);
  });
});

it('a rate limit starts the cool-down of one deployment, and the next deployment serves', async () => {
  world.first.answer = refuses(429, {}, { 'retry-after': '30' });
  for (let time = 0; time < 3; time++) expect((await world.call('local/pair')).status).toBe(200);
  expect(world.calls).toEqual([1, 3]);
  world.second.answer = refuses(429, {}, { 'retry-after': '20' });
  expect((await world.call('local/pair')).json.error).toMatchObject({ code: 'provider_rate_limited', retry_after: 20 });
  const rest = await world.call('local/pair');
  expect(rest.status).toBe(429);
  expect(rest.json.error.code).toBe('provider_rate_limited');
  expect(rest.json.error.retry_after).toBeGreaterThanOrEqual(10);
  expect(rest.json.error.retry_after).toBeLessThanOrEqual(20);
  // A deployment of the same provider without a limit.
  expect((await world.call('local/reserve')).json.error.code).toBe('provider_rate_limited');
});

it('opens the circuit breaker at once when a deployment rejects our key', async () => {
  world.first.answer = refuses(401, { code: 'invalid_api_key' });
  expect((await world.call('local/pair')).status).toBe(200);
  expect((await world.call('local/pair')).status).toBe(200);
  expect(world.calls).toEqual([1, 2]);
});

describe('a provider that hangs', () => {
  it('occupies only its own concurrency slots, and releases them', async () => {
    world.first.answer = hangs;
    const abort = new AbortController();
    const stuck = Array.from({ length: PLACES }, () =>
      world.call('local/solo', {}, abort.signal).catch(() => undefined),
    );
    while (world.calls[0] < PLACES) await delay(5);

    const full = await world.call('local/solo');
    expect(full.json.error).toMatchObject({ code: 'no_provider_available', retry_after: 1 });
    expect((await world.call('local/pair')).status).toBe(200);
    expect((await world.call('local/reserve')).status).toBe(200);
    expect(world.calls).toEqual([PLACES, 2]);

    abort.abort();
    await Promise.all(stuck);
    world.first.answer = answers;
    const load = world.gateway.app.get(HealthService, { strict: false }).loadOf('openai-compatible');
    while (load.inFlight > 0) await delay(5);
    expect((await world.call('local/solo')).status).toBe(200);
  });

  it('leaks no concurrency slot, however its calls end', async () => {
    const load = world.gateway.app.get(HealthService, { strict: false }).loadOf('openai-compatible');
    for (const answer of [answers, refuses(500), refuses(429), refuses(400)]) {
      world.first.answer = answer;
      await world.call('local/solo', once);
      await world.call('local/twins', { stream: true });
    }
    world.first.answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(chunk({ role: 'assistant', content: 'Hello' }));
      void settle(20).then(() => response.destroy());
    };
    await world.call('local/pair', { stream: true });
    while (load.inFlight > 0) await delay(5);
  });
});
