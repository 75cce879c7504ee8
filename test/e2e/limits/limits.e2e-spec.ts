import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMAND_LINE } from '../../../src/common/actor';
import type { RateLimits } from '../../../src/common/rate-limits';
import { ApiKeyService } from '../../../src/organizations/api-key.service';
import { OrganizationService } from '../../../src/organizations/organization.service';
import { allowedMs } from '../../faults/figures';
import { assertMatchesDocument } from '../../harness/openapi-validator';
import { type CallReply, TestGateway } from '../../harness/gateway';

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

const ask = (key: string, fields: object = {}, directive?: string): Promise<CallReply> =>
  gateway.call(PATH, { key, body: body(fields, directive) });

/** Two at once; who was let in comes first. */
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
  ])('over the limit of its key %s gets 429 rate_limited with what is left', async (_window, limits, details) => {
    const { key } = await gateway.customer(limits);
    let [accepted, refused] = await askTwice(key, stream);
    // A machine that stands still between the two for a second lets in both.
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
  });

  it('over the tokens of its key gets 429 tokens_per_minute_exceeded', async () => {
    const { key } = await gateway.customer({ tokensPerMinute: 130 });
    // What is held for the first is given back when it has ended, so they must run at once.
    const replies = await Promise.all([1, 2].map(() => ask(key, { stream, max_tokens: 90 }, 'first_token=1500')));
    const accepted = replies.find(({ status }) => status === 200);
    const refused = replies.find(({ status }) => status === 429) as CallReply;
    expectRefusal(refused, 'tokens_per_minute_exceeded', { scope: 'key', limit: 130, window: 'minute' });
    expect(accepted?.headers.get('x-ratelimit-limit-tokens')).toBe('130');
    expect(Number(refused.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(40);
  });

  it('beyond the requests in flight of its key gets 429 concurrency_exceeded', async () => {
    const { key } = await gateway.customer({ concurrency: 1 });
    const replies = await Promise.all([1, 2, 3].map(() => ask(key, { stream }, 'first_token=1500')));
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(2);
    const details = { scope: 'key', limit: 1, window: 'in_flight' };
    for (const reply of refused) expectRefusal(reply, 'concurrency_exceeded', details);
    expect((await ask(key, { stream })).status).toBe(200);
  });

  it('over the limit of its organization is refused with any of its keys', async () => {
    const { key, organizationId } = await gateway.customer();
    await limitOrganization(organizationId, { requestsPerMinute: 1 });
    const statuses = await Promise.all([ask(key, { stream }), ask(key, { stream })]);
    const refused = statuses.find(({ status }) => status === 429) as CallReply;
    expectRefusal(refused, 'rate_limited', { scope: 'organization', limit: 1, window: 'minute' });
  });
});

it('a model with a limit refuses what is over it, whoever asks', async () => {
  const customers = await Promise.all([gateway.customer(), gateway.customer(), gateway.customer()]);
  const replies = await Promise.all(customers.map(({ key }) => ask(key, { model: LIMITED_MODEL })));
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 200, 429]);
  const refused = replies.find(({ status }) => status === 429) as CallReply;
  expectRefusal(refused, 'rate_limited', { scope: 'model', limit: 2, window: 'minute' });
  expect(refused.headers.get('x-ratelimit-limit-requests')).toBeNull();
});

it('a model with a limit has it too where it answers in place of another', async () => {
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

it('a request that alone is over the tokens of its key is told that no waiting helps', async () => {
  const { key } = await gateway.customer({ tokensPerMinute: 20 });
  const { status, headers, json } = await ask(key);
  expect([status, json.error.code]).toEqual([429, 'tokens_per_minute_exceeded']);
  expect(headers.get('retry-after')).toBe('1');
  expect(json.error.details.estimated_tokens).toBeGreaterThan(50);
});

it('tokens that were not used are given back', async () => {
  const { key } = await gateway.customer({ tokensPerMinute: 1_000 });
  const first = await ask(key, { max_tokens: 900 }, 'delay=0 usage_prompt=10 usage_completion=20');
  expect(Number(first.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(100);
  const second = await ask(key, { max_tokens: 900 }, 'delay=0 usage_prompt=10 usage_completion=20');
  expect(second.status).toBe(200);
});

it('a request that cannot be paid for gives back its slot and its tokens', async () => {
  const { key } = await gateway.customer({ concurrency: 1, tokensPerMinute: 200 }, 0n);
  for (let turn = 0; turn < 4; turn++) expect((await ask(key)).json.error.code).toBe('insufficient_credits');
});

it('what costs nothing is not limited', async () => {
  const { key } = await gateway.customer({ requestsPerMinute: 1 });
  await ask(key);
  expect((await ask(key)).status).toBe(429);
  expect((await gateway.call('/v1/models', { key })).status).toBe(200);
});

it('a caller known to be over its limit is refused before its body is read', async () => {
  const { key } = await gateway.customer({ requestsPerMinute: 1 });
  await ask(key);
  await ask(key);
  const { status, headers, text } = await headOnly(key);
  expect(status).toBe(429);
  expect(headers['x-ratelimit-remaining-requests']).toBe('0');
  assertMatchesDocument({ method: 'POST', path: PATH, status, headers, body: text });
});

it('a limit that is changed holds within a second, also for a caller that is being refused', async () => {
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

it('a budget that is set counts what the key has spent before', async () => {
  const { key, keyId } = await gateway.customer();
  const costMicro = BigInt((await ask(key)).json.usage.x_llm_cost_micro);
  const keys = gateway.app.get(ApiKeyService, { strict: false });
  const holdMicro = 1_000_000n;
  await keys.update(keyId, null, { dailyBudgetMicro: costMicro }, COMMAND_LINE);
  expect((await ask(key)).json.error.code).toBe('budget_exceeded');
  await keys.update(keyId, null, { dailyBudgetMicro: costMicro + holdMicro }, COMMAND_LINE);
  expect((await ask(key)).status).toBe(200);
});

/** Announces a body, sends none, and waits for the answer. */
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
