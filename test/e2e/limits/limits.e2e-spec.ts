import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMAND_LINE } from '../../../src/core/types/actor';
import type { RateLimits } from '../../../src/core/types/rate-limits';
import { ApiKeyService } from '../../../src/auth/api-keys/api-key.service';
import { OrganizationService } from '../../../src/dashboard/organizations/organization.service';
import { allowedMs } from '../../faults/figures';
import { assertMatchesDocument } from '../../harness/openapi-validator';
import { FaultProxy } from '../../harness/fault-proxy';
import { type CallReply, TestGateway } from '../../harness/gateway';
import { createTestRedis } from '../../harness/redis';

const PATH = '/v1/chat/completions';
const LIMITED_MODEL = 'mock/limited';
const CHEAP_MODEL = 'mock/cheap-and-limited';
const CATALOGUE = [LIMITED_MODEL, CHEAP_MODEL]
  .map(
    (id) => `
- id: ${id}
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  features: { streaming: true }
  limits: { rpm: 2 }
  deployments:
    - { provider: mock, upstream_model: chat-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens: { per_1m_micro: { input: 1, output: 1 } }
`,
  )
  .join('');

const body = (fields: object = {}, directive = 'delay=0') => ({
  model: 'mock/chat-1',
  max_tokens: 50,
  messages: [{ role: 'user', content: `[[mock: ${directive}]] Hello` }],
  ...fields,
});

let gateway: TestGateway;
let catalogDir: string;

beforeAll(async () => {
  catalogDir = mkdtempSync(join(tmpdir(), 'limits-e2e-'));
  writeFileSync(join(catalogDir, 'limited.yaml'), CATALOGUE);
  gateway = await TestGateway.start({ CATALOG_DIR: catalogDir });
});

afterAll(async () => {
  await gateway.stop();
  rmSync(catalogDir, { recursive: true });
});

const ask = (key: string, fields: object = {}, directive?: string, signal?: AbortSignal): Promise<CallReply> =>
  gateway.call(PATH, { key, body: body(fields, directive), signal });

/** Sends requests at once, of which one is accepted, and keeps it in flight until all others have been answered. */
async function refusalsBesideOne(key: string, count: number, fields: object): Promise<CallReply[]> {
  const refusals: CallReply[] = [];
  const othersAnswered = Promise.withResolvers<void>();
  const leaving = new AbortController();
  const noteRefusal = (reply: CallReply): void => {
    if (refusals.push(reply) === count - 1) othersAnswered.resolve();
  };
  const calls = Array.from({ length: count }, () =>
    ask(key, fields, 'hang', leaving.signal).then(noteRefusal, () => undefined),
  );
  await othersAnswered.promise;
  leaving.abort();
  await Promise.all(calls);
  return refusals;
}

/** The first response that is not a refusal: a request that has left frees its slot and tokens a moment later. */
async function askUntilAccepted(key: string, fields: object): Promise<CallReply> {
  for (;;) {
    const reply = await ask(key, fields);
    if (reply.status !== 429) return reply;
  }
}

/** Two concurrent requests; the accepted one comes first. */
async function askTwice(key: string, stream: boolean): Promise<[CallReply, CallReply]> {
  const [one, two] = await Promise.all([ask(key, { stream }), ask(key, { stream })]);
  return one.status === 200 ? [one, two] : [two, one];
}

async function limitOrganization(organizationId: string, limits: Partial<RateLimits>): Promise<void> {
  await gateway.app.get(OrganizationService, { strict: false }).setRateLimits(organizationId, limits, COMMAND_LINE);
}

function expectRefusal(reply: CallReply, code: string, details: object): void {
  expect(reply.json.error).toMatchObject({ type: 'rate_limit_error', code, details });
  expect(reply.status).toBe(429);
  expect(reply.headers.get('x-should-retry')).toBe('true');
  expect(Number(reply.headers.get('retry-after'))).toBe(reply.json.error.retry_after);
}

describe.each([false, true])('a request (stream: %s)', (stream) => {
  it.each<[string, Partial<RateLimits>, object]>([
    ['per second', { requestsPerSecond: 1 }, { scope: 'key', limit: 1, window: 'second' }],
    ['per minute', { requestsPerMinute: 1 }, { scope: 'key', limit: 1, window: 'minute' }],
  ])(
    'returns 429 rate_limited with the remaining quota when over the key limit %s',
    async (_window, limits, details) => {
      const { key } = await gateway.customer(limits);
      let [accepted, refused] = await askTwice(key, stream);
      // If the machine stalls for a second between the two, both are accepted.
      while (limits.requestsPerSecond !== undefined && refused.status === 200) {
        [accepted, refused] = await askTwice(key, stream);
      }
      expect(accepted.status).toBe(200);
      for (const { headers } of [accepted, refused]) {
        expect(headers.get('x-ratelimit-limit-requests')).toBe('1');
        expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
        expect(headers.get('x-ratelimit-reset-requests')).toMatch(/^(1s|1m0s|60s)$/);
      }
      expectRefusal(refused, 'rate_limited', details);
    },
  );

  it('returns 429 tokens_per_minute_exceeded when over the token limit of its key', async () => {
    const { key } = await gateway.customer({ tokensPerMinute: 130 });
    const fields = { stream, max_tokens: 90 };
    // The accepted request releases its reservation when it ends, so both must run at once.
    const [refused] = (await refusalsBesideOne(key, 2, fields)) as [CallReply];
    expectRefusal(refused, 'tokens_per_minute_exceeded', { scope: 'key', limit: 130, window: 'minute' });
    const accepted = await askUntilAccepted(key, fields);
    expect([accepted.status, accepted.headers.get('x-ratelimit-limit-tokens')]).toEqual([200, '130']);
    expect(Number(refused.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(40);
  });

  it('returns 429 concurrency_exceeded when over the concurrency limit of its key', async () => {
    const { key } = await gateway.customer({ concurrency: 1 });
    const details = { scope: 'key', limit: 1, window: 'in_flight' };
    for (const reply of await refusalsBesideOne(key, 3, { stream })) {
      expectRefusal(reply, 'concurrency_exceeded', details);
    }
    expect((await askUntilAccepted(key, { stream })).status).toBe(200);
  });

  it('is refused with any key of an organization that is over its limit', async () => {
    const { key, organizationId } = await gateway.customer();
    await limitOrganization(organizationId, { requestsPerMinute: 1 });
    const statuses = await Promise.all([ask(key, { stream }), ask(key, { stream })]);
    const refused = statuses.find(({ status }) => status === 429) as CallReply;
    expectRefusal(refused, 'rate_limited', { scope: 'organization', limit: 1, window: 'minute' });
  });
});

describe('a request that only reads or deletes', () => {
  const PATHS = ['GET /v1/models', 'GET /v1/jobs/none', 'DELETE /v1/video/generations/none'];
  let strict: TestGateway;

  beforeAll(async () => {
    strict = await TestGateway.start({ LIMIT_KEY_READS_PER_SECOND: '5' });
  });
  afterAll(() => strict.stop());

  const readAll = (key: string, count: number): Promise<CallReply[]> =>
    Promise.all(
      Array.from({ length: count }, (_, index) => {
        const [method, path] = (PATHS[index % PATHS.length] as string).split(' ') as [string, string];
        return strict.call(path, { method, key });
      }),
    );

  it('has a limit per key and second, and counts toward no other limit', async () => {
    const { key } = await strict.customer({ requestsPerMinute: 1 });
    const other = await strict.customer();
    let replies = await readAll(key, 12);
    // On a stalled machine the requests may take more than one second.
    while (replies.every(({ status }) => status !== 429)) replies = await readAll(key, 12);
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies.length - refused.length).toBeGreaterThanOrEqual(5);
    for (const reply of refused) {
      expectRefusal(reply, 'rate_limited', { scope: 'key', limit: 5, window: 'second' });
      expect(reply.headers.get('x-ratelimit-limit-requests')).toBeNull();
    }
    expect((await readAll(other.key, 5)).map(({ status }) => status)).not.toContain(429);
    expect((await strict.call(PATH, { key, body: body() })).status).toBe(200);
  });
});

it('applies the limit of a model to all organizations', async () => {
  const customers = await Promise.all([gateway.customer(), gateway.customer(), gateway.customer()]);
  const replies = await Promise.all(customers.map(({ key }) => ask(key, { model: LIMITED_MODEL })));
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 200, 429]);
  const refused = replies.find(({ status }) => status === 429) as CallReply;
  expectRefusal(refused, 'rate_limited', { scope: 'model', limit: 2, window: 'minute' });
  expect(refused.headers.get('x-ratelimit-limit-requests')).toBeNull();
});

it('applies the limit of a model also when it serves as a fallback', async () => {
  const { key } = await gateway.customer();
  const routing = { models: [CHEAP_MODEL], max_price: { prompt: 1, completion: 1 } };
  const replies = await Promise.all(Array.from({ length: 5 }, () => ask(key, { routing })));
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 200, 429, 429, 429]);
  for (const { headers } of replies.filter(({ status }) => status === 200)) {
    expect(headers.get('x-llm-model')).toBe(CHEAP_MODEL);
  }
  const refused = replies.find(({ status }) => status === 429) as CallReply;
  expectRefusal(refused, 'rate_limited', { scope: 'model', limit: 2, window: 'minute' });
  expect((await ask(key)).status).toBe(200);
});

it('returns the token estimate when one request alone exceeds the token limit of its key', async () => {
  const { key } = await gateway.customer({ tokensPerMinute: 20 });
  const { status, headers, json } = await ask(key);
  expect([status, json.error.code]).toEqual([429, 'tokens_per_minute_exceeded']);
  expect(headers.get('retry-after')).toBe('1');
  expect(json.error.details.estimated_tokens).toBeGreaterThan(50);
});

it('returns unused tokens to the token limit', async () => {
  const { key } = await gateway.customer({ tokensPerMinute: 1_000 });
  const first = await ask(key, { max_tokens: 900 }, 'delay=0 usage_prompt=10 usage_completion=20');
  expect(Number(first.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(100);
  const second = await ask(key, { max_tokens: 900 }, 'delay=0 usage_prompt=10 usage_completion=20');
  expect(second.status).toBe(200);
});

it('returns the slot and tokens of a request that the balance cannot cover', async () => {
  const { key } = await gateway.customer({ concurrency: 1, tokensPerMinute: 200 }, 0n);
  for (let index = 0; index < 4; index++) expect((await ask(key)).json.error.code).toBe('insufficient_credits');
});

it('does not limit free operations', async () => {
  const { key } = await gateway.customer({ requestsPerMinute: 1 });
  await ask(key);
  expect((await ask(key)).status).toBe(429);
  expect((await gateway.call('/v1/models', { key })).status).toBe(200);
});

it('refuses a caller known to be over its limit before reading the body', async () => {
  const { key } = await gateway.customer({ requestsPerMinute: 1 });
  await ask(key);
  await ask(key);
  const { status, headers, text } = await headOnly(key);
  expect(status).toBe(429);
  expect(headers['x-ratelimit-remaining-requests']).toBe('0');
  assertMatchesDocument({ method: 'POST', path: PATH, status, headers, body: text });
});

it('applies a changed limit within a second, also to a caller that is being refused', async () => {
  const { key, keyId } = await gateway.customer({ requestsPerMinute: 1 });
  const keys = gateway.app.get(ApiKeyService, { strict: false });
  await ask(key);
  await ask(key);
  expect((await headOnly(key)).status).toBe(429);
  await keys.update(keyId, null, { requestsPerMinute: 1_000 }, COMMAND_LINE);
  const changedAtMs = performance.now();
  while ((await ask(key)).status !== 200) expect(performance.now() - changedAtMs).toBeLessThan(allowedMs(1_000));
  await keys.update(keyId, null, { requestsPerMinute: null, dailyBudgetMicro: 0n }, COMMAND_LINE);
  const reply = await ask(key);
  expect([reply.status, reply.json.error.code]).toEqual([402, 'budget_exceeded']);
});

it('counts earlier spending of the key toward a new budget', async () => {
  const { key, keyId } = await gateway.customer();
  const costMicro = BigInt((await ask(key)).json.usage.x_llm_cost_micro);
  const keys = gateway.app.get(ApiKeyService, { strict: false });
  const holdMicro = 1_000_000n;
  await keys.update(keyId, null, { dailyBudgetMicro: costMicro }, COMMAND_LINE);
  expect((await ask(key)).json.error.code).toBe('budget_exceeded');
  await keys.update(keyId, null, { dailyBudgetMicro: costMicro + holdMicro }, COMMAND_LINE);
  expect((await ask(key)).status).toBe(200);
});

/** Announces a body, sends none, and waits for the response. */
function headOnly(key: string): Promise<{ status: number; headers: Record<string, string>; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': '100' };
    const sent = request(`${gateway.url}${PATH}`, { method: 'POST', headers }, async (reply) => {
      let text = '';
      for await (const chunk of reply) text += String(chunk);
      sent.destroy();
      resolve({ status: reply.statusCode ?? 0, headers: reply.headers as Record<string, string>, text });
    });
    sent.on('error', reject);
    sent.flushHeaders();
  });
}

it('waits for a slow Redis up to REDIS_TIMEOUT_MS', async () => {
  const redis = await FaultProxy.start(createTestRedis().strictUrl);
  const slow = await TestGateway.start({ REDIS_URL: redis.url, REDIS_TIMEOUT_MS: '60000' });
  try {
    const { key } = await slow.customer();
    redis.fail('toClient', { latencyMs: 500 });
    const { status } = await slow.call(PATH, { key, body: body() });
    expect(status).toBe(200);
  } finally {
    redis.fail('both', {});
    await slow.stop();
    await redis.close();
  }
});
