import { RoutePlanner } from '../../../src/inference/route-planner';
import { allowedMs } from '../../faults/figures';
import type { Answer } from '../../conformance/fake-upstream';
import { findFreePort } from '../../harness/child-process';
import { settle } from '../../harness/event-loop';
import { chunk } from '../../harness/upstream-models';
import { answers, COST, cuts, hangs, QUICK_FAILURE_MS, refuses, TwoUpstreams } from './two-upstreams';

const REPLY_LIMIT_MS = 3_000;

let world: TwoUpstreams;
beforeAll(async () => {
  world = await TwoUpstreams.start({
    UPSTREAM_REPLY_TIMEOUT_MS: String(REPLY_LIMIT_MS),
    UPSTREAM_FIRST_TOKEN_TIMEOUT_MS: String(REPLY_LIMIT_MS),
  });
});
afterAll(() => world.stop());
beforeEach(() => world.reset());

const breaksOff: Answer = (response) => {
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', '1000');
  response.write('{"id":');
  void settle(20).then(() => response.destroy());
};
const garbage: Answer = (response) => {
  response.setHeader('content-type', 'application/json');
  response.end('not JSON');
};

/** Upstream behaviour, the status the client gets, calls without a fallback, whether another provider is tried. */
const TABLE: [string, Answer, number, string, number, boolean][] = [
  ['closes the connection', cuts, 503, 'provider_unavailable', 1, true],
  ['sends no response', hangs, 504, 'provider_timeout', 1, true],
  ['breaks off its response', breaksOff, 502, 'provider_disconnect', 1, true],
  ['sends garbage', garbage, 502, 'provider_error', 1, true],
  ['answers 408', refuses(408), 504, 'provider_timeout', 1, true],
  ['answers 504', refuses(504), 504, 'provider_timeout', 1, true],
  ['answers 524', refuses(524), 504, 'provider_timeout', 1, true],
  ['answers 500', refuses(500), 503, 'provider_unavailable', 2, true],
  ['answers 502', refuses(502), 503, 'provider_unavailable', 2, true],
  ['answers 503', refuses(503), 503, 'provider_unavailable', 2, true],
  ['answers 529', refuses(529), 503, 'provider_unavailable', 2, true],
  ['answers 429', refuses(429), 429, 'provider_rate_limited', 1, true],
  ['is out of credit', refuses(429, { code: 'insufficient_quota' }), 502, 'provider_error', 1, true],
  ['answers 402', refuses(402), 502, 'provider_error', 1, true],
  ['refuses our key', refuses(401, { code: 'invalid_api_key' }), 502, 'provider_error', 1, true],
  ['answers 403', refuses(403), 502, 'provider_error', 1, true],
  ['does not know the model', refuses(404, { code: 'model_not_found' }), 502, 'provider_error', 1, true],
  ['sends an unknown status', refuses(418), 502, 'provider_error', 1, true],
  ['refuses the content', refuses(400, { type: 'invalid_request_error' }), 400, 'validation_failed', 1, false],
  ['filters the content', refuses(400, { code: 'content_filter' }), 400, 'validation_failed', 1, false],
];

describe.each([false, true])('a provider that fails before the first token (stream: %s)', (stream) => {
  it.each(TABLE)('and %s', async (_what, answer, status, code, soloCalls, fallsBack) => {
    world.first.answer = answer;
    const alone = await world.call('local/solo', { stream });
    expect(alone.status).toBe(status);
    expect(alone.json.error.code).toBe(code);
    expect(alone.headers.get('x-llm-cost-micro') ?? '0').toBe('0');
    expect(world.calls).toEqual([soloCalls, 0]);
    expect(await world.spent()).toEqual({ paid: 0, held: 0 });

    const startedAtMs = performance.now();
    const paired = await world.call('local/pair', { stream });
    const isQuick = performance.now() - startedAtMs < QUICK_FAILURE_MS;
    expect(paired.status).toBe(fallsBack ? 200 : status);
    // While another deployment remains, a slow failure (as on a stalled machine) is not retried at the same place.
    const pairCalls = soloCalls === 2 && !isQuick ? [1, 2] : [soloCalls];
    expect(pairCalls).toContain(world.calls[0] - soloCalls);
    expect(world.calls[1]).toBe(fallsBack ? 1 : 0);
    // The provider that served is paid, at its price.
    expect(await world.spent()).toEqual({ paid: fallsBack ? COST.second : 0, held: 0 });
  });
});

describe('a provider that recovers', () => {
  it('is retried once and charged as if the first attempt had not failed', async () => {
    const recovers: Answer = (response, request) =>
      (world.first.received.length === 1 ? refuses(503) : answers)(response, request);
    expect((await world.callQuickly(recovers, 'local/pair')).status).toBe(200);
    expect(world.calls).toEqual([2, 0]);
    expect(await world.spent()).toEqual({ paid: COST.first, held: 0 });
  });

  it('is not retried before its Retry-After', async () => {
    world.first.answer = refuses(503, {}, { 'retry-after': '20' });
    const reply = await world.call('local/solo');
    expect(reply.json.error).toMatchObject({ code: 'provider_unavailable', retry_after: 20 });
    expect(reply.headers.get('retry-after')).toBe('20');
    expect(world.calls).toEqual([1, 0]);
  });
});

describe('failure after the first token', () => {
  it('is not retried elsewhere: the stream ends with an interruption error', async () => {
    world.first.answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.write(chunk({ role: 'assistant', content: 'Hello' }));
      void settle(50).then(() => response.destroy());
    };
    const reply = await world.call('local/pair', { stream: true });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.events.at(-2) ?? '').error.code).toBe('stream_interrupted');
    expect(world.calls).toEqual([1, 0]);
  });

  it('reports stream_interrupted when the stream ends before its finish reason', async () => {
    world.first.answer = (response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.end(chunk({ role: 'assistant', content: 'Hello' }));
    };
    const reply = await world.call('local/pair', { stream: true });
    expect(JSON.parse(reply.events.at(-2) ?? '').error.code).toBe('provider_disconnect');
    expect(world.calls).toEqual([1, 0]);
  });
});

it('applies the first-token timeout although the response headers have arrived', async () => {
  world.first.answer = (response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.write(': working on it\n\n');
  };
  const reply = await world.call('local/pair', { stream: true });
  expect(reply.status).toBe(200);
  expect(reply.events.at(-1)).toBe('[DONE]');
  expect(world.calls).toEqual([1, 1]);
  expect(await world.spent()).toEqual({ paid: COST.second, held: 0 });
});

it('abandons a provider that hangs before its headers at the timeout and releases the hold (F-50)', async () => {
  world.first.answer = hangs;
  const startMs = performance.now();
  const reply = await world.call('local/solo');
  const tookMs = performance.now() - startMs;
  expect(reply.json.error).toMatchObject({ code: 'provider_timeout', type: 'timeout_error' });
  expect(tookMs).toBeGreaterThan(REPLY_LIMIT_MS - 50);
  expect(tookMs).toBeLessThan(allowedMs(REPLY_LIMIT_MS + 1_000));
  expect(await world.spent()).toEqual({ paid: 0, held: 0 });
});

describe('when all providers fail', () => {
  it('returns the shorter of two Retry-After values', async () => {
    world.first.answer = refuses(429, {}, { 'retry-after': '40' });
    world.second.answer = refuses(429, {}, { 'retry-after': '9' });
    const reply = await world.call('local/pair');
    expect(reply.json.error).toMatchObject({ code: 'provider_rate_limited', retry_after: 9 });
    expect(world.calls).toEqual([1, 1]);
  });

  it('reports a rate limit rather than an outage, because a rate limit ends', async () => {
    world.first.answer = refuses(429, {}, { 'retry-after': '40' });
    world.second.answer = refuses(503);
    const reply = await world.call('local/pair');
    expect(reply.json.error).toMatchObject({ code: 'provider_rate_limited', retry_after: 40 });
  });

  it('never returns a provider’s 401 for our key as the customer’s 401', async () => {
    world.first.answer = refuses(401);
    world.second.answer = refuses(403);
    const reply = await world.call('local/pair');
    expect(reply.status).toBe(502);
    expect(reply.text).not.toContain('sk-of-the-operator');
  });
});

describe('Retry-After of a provider rate limit (F-57)', () => {
  it.each<[string, () => string, number, number]>([
    ['seconds', () => '7', 7, 7],
    ['a date', () => new Date(Date.now() + 20_000).toUTCString(), 10, 20],
    ['garbage', () => 'soon', 10, 10],
    ['nothing', () => '', 10, 10],
    ['a huge number', () => '1e9', 3_600, 3_600],
    ['a number in the past', () => '-5', 1, 1],
    ['zero', () => '0', 1, 1],
    ['a fraction', () => '1.5', 2, 2],
  ])('becomes an integer from 1 to 3600, given %s', async (_form, header, least, most) => {
    world.first.answer = refuses(429, {}, { 'retry-after': header() });
    const reply = await world.call('local/solo');
    expect(reply.status).toBe(429);
    const seconds = Number(reply.headers.get('retry-after'));
    expect(Number.isInteger(seconds)).toBe(true);
    expect(seconds).toBeGreaterThanOrEqual(least);
    expect(seconds).toBeLessThanOrEqual(most);
    expect(reply.json.error.retry_after).toBe(seconds);
  });
});

it('answers an internal error with 500 without details and releases the hold', async () => {
  const planner = world.gateway.app.get(RoutePlanner, { strict: false });
  jest.spyOn(planner, 'plan').mockImplementationOnce(() => {
    throw new TypeError('secret detail');
  });
  const reply = await world.call('local/solo');
  expect(reply.status).toBe(500);
  expect(reply.json.error.code).toBe('internal_error');
  expect(reply.text).not.toContain('secret');
  expect(await world.spent()).toEqual({ paid: 0, held: 0 });
});

it('tries an unreachable provider twice, then another provider', async () => {
  const port = await findFreePort();
  const cutOff = await TwoUpstreams.start({ OPENAI_COMPATIBLE_BASE_URL: `http://127.0.0.1:${port}/v1` });
  try {
    await cutOff.reset();
    const alone = await cutOff.call('local/solo');
    expect(alone.status).toBe(503);
    expect(alone.json.error.code).toBe('provider_unavailable');
    expect(await cutOff.spent()).toEqual({ paid: 0, held: 0 });
    const startedAtMs = performance.now();
    expect((await cutOff.call('local/pair')).status).toBe(200);
    const isQuick = performance.now() - startedAtMs < QUICK_FAILURE_MS;
    expect(await cutOff.spent()).toEqual({ paid: COST.second, held: 0 });
    const records = await cutOff.gateway.rows<{ attempts: number }>('SELECT attempts FROM usage_record ORDER BY id');
    const [solo, pair] = records.map(({ attempts }) => attempts);
    expect(solo).toBe(2);
    // As in the table: a slow failure is not retried at the same deployment.
    expect(isQuick ? [3] : [2, 3]).toContain(pair);
  } finally {
    await cutOff.stop();
  }
});

it('keeps every ledger invariant', async () => {
  expect(await world.gateway.violations()).toEqual([]);
});
