import { COMMAND_LINE } from '../../../src/core/types/actor';
import { ApiKeyService } from '../../../src/auth/api-keys/api-key.service';
import type { CallReply, TestCustomer } from '../../harness/gateway';
import { BODY, KeyedGateway, PATH, STREAM_BODY, until } from './keyed-gateway';

let keyed: KeyedGateway;
let customer: TestCustomer;

beforeAll(async () => {
  keyed = await KeyedGateway.start();
});
beforeEach(async () => {
  keyed.answerWell();
  customer = await keyed.gateway.customer();
});
afterAll(() => keyed.stop());

const REPEATED = ['content-type', 'x-llm-model', 'x-llm-cost-micro'];
const headersOf = (reply: CallReply) => REPEATED.map((name) => reply.headers.get(name));

/** Both responses are byte-identical, and only one was generated. */
function expectReplay(first: CallReply, replay: CallReply): void {
  expect(first.status).toBe(200);
  expect(first.headers.get('idempotent-replayed')).toBeNull();
  expect(replay.status).toBe(200);
  expect(replay.headers.get('idempotent-replayed')).toBe('true');
  expect(replay.text).toBe(first.text);
  expect(headersOf(replay)).toEqual(headersOf(first));
  expect(replay.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
}

function expectConflict(reply: CallReply, retryAfter: number | undefined): void {
  expect(reply.status).toBe(409);
  expect(reply.json.error.code).toBe('idempotency_conflict');
  expect(reply.json.error.retry_after).toBe(retryAfter);
  expect(reply.headers.get('retry-after')).toBe(retryAfter === undefined ? null : String(retryAfter));
  expect(reply.headers.get('x-should-retry')).toBe(String(retryAfter !== undefined));
}

describe.each([
  ['sent whole', BODY],
  ['streamed', STREAM_BODY],
])('a response %s', (_title, body) => {
  it('is replayed byte for byte, without a charge or a receipt', async () => {
    const askedBefore = keyed.asked;
    const first = await keyed.call(customer, 'again', body);
    const spent = await keyed.spent(customer);
    const replay = await keyed.call(customer, 'again', body);
    expectReplay(first, replay);
    expect(await keyed.spent(customer)).toEqual(spent);
    expect(spent).toMatchObject({ reserved: 0, receipts: 1 });
    expect(keyed.asked - askedBefore).toBe(1);
  });

  it('is replayed to a client that serializes the same body differently', async () => {
    const first = await keyed.call(customer, 'rewritten', { ...body, temperature: 1 });
    const members = Object.entries({ ...body, temperature: '1.0e0' }).toReversed();
    const text = `{ ${members.map(([name, value]) => `"${name}" : ${JSON.stringify(value)}`).join(' , ')} }`;
    expectReplay(first, await keyed.call(customer, 'rewritten', text.replace('"1.0e0"', '1.0e0')));
  });

  it('is replayed without balance, provider or free limits', async () => {
    const poor = await keyed.gateway.customer({ requestsPerMinute: 1, concurrency: 1 });
    const first = await keyed.call(poor, 'again', body);
    await keyed.takeMoney(poor);
    keyed.answerStatus(500);
    for (let time = 0; time < 3; time++) expectReplay(first, await keyed.call(poor, 'again', body));
  });

  it('is replayed to another key of the organization, for example after a rotation', async () => {
    const first = await keyed.call(customer, 'again', body);
    const keys = keyed.gateway.app.get(ApiKeyService, { strict: false });
    const { key } = await keys.create(customer.organizationId, {}, COMMAND_LINE);
    expectReplay(first, await keyed.call({ ...customer, key }, 'again', body));
  });

  it('is not replayed to a key that may not use the fallback model that served', async () => {
    const routed = { ...body, routing: { models: ['local/unbounded'] } };
    expect((await keyed.call(customer, 'again', routed)).status).toBe(200);
    const keys = keyed.gateway.app.get(ApiKeyService, { strict: false });
    const { key } = await keys.create(customer.organizationId, { allowedModels: [body.model] }, COMMAND_LINE);
    const reply = await keyed.call({ ...customer, key }, 'again', routed);
    expect(reply.status).toBe(403);
    expect(reply.json.error).toMatchObject({ code: 'model_not_allowed', param: 'routing.models[0]' });
  });

  it('is not replayed to a key that may not use the model', async () => {
    await keyed.call(customer, 'again', body);
    const keys = keyed.gateway.app.get(ApiKeyService, { strict: false });
    const { key } = await keys.create(customer.organizationId, { allowedModels: ['other/model'] }, COMMAND_LINE);
    const reply = await keyed.call({ ...customer, key }, 'again', body);
    expect(reply.json.error.code).toBe('model_not_allowed');
  });

  it('is not replayed to another organization', async () => {
    const first = await keyed.call(customer, 'again', body);
    const second = await keyed.call(await keyed.gateway.customer(), 'again', body);
    expect(second.headers.get('idempotent-replayed')).toBeNull();
    expect(second.text).not.toBe(first.text);
  });

  it('is generated again after its record expires', async () => {
    const first = await keyed.call(customer, 'again', body);
    await keyed.rewriteRecords(customer, 'expires_at = now()');
    const second = await keyed.call(customer, 'again', body);
    expect(second.headers.get('idempotent-replayed')).toBeNull();
    expect(second.text).not.toBe(first.text);
    expectReplay(second, await keyed.call(customer, 'again', body));
  });

  it('returns 409 without Retry-After when the body is not JSON-equal', async () => {
    await keyed.call(customer, 'again', body);
    expectConflict(await keyed.call(customer, 'again', { ...body, temperature: 0 }), undefined);
    expectConflict(await keyed.call(customer, 'again', { ...body, unknown_field: null }), undefined);
  });

  it('returns 409 idempotency_conflict with Retry-After while the original is in flight', async () => {
    const held = keyed.hold();
    const first = keyed.call(customer, 'twins', body);
    await until(() => held.waiting === 1);
    // No latency is recorded yet for this operation, so the value is the initial estimate or less.
    const conflict = await keyed.call(customer, 'twins', body);
    expectConflict(conflict, conflict.json.error.retry_after);
    expect([1, 2]).toContain(conflict.json.error.retry_after);
    expectConflict(await keyed.call(customer, 'twins', { ...body, temperature: 0 }), undefined);
    held.release();
    expectReplay(await first, await keyed.call(customer, 'twins', body));
  });

  it.each([
    ['itself', { maxResponseBytes: 300 }],
    ['the stored total of the organization', { maxOrganizationBytes: 300 }],
  ])('is delivered once and never generated again when %s makes it too long to store', async (_reason, limits) => {
    const limited = keyed.limit(limits);
    try {
      const askedBefore = keyed.asked;
      expect((await keyed.call(customer, 'long', body)).status).toBe(200);
      const retry = await keyed.call(customer, 'long', body);
      expectConflict(retry, undefined);
      expect(retry.json.error.details).toEqual({ reason: 'response_not_stored' });
      expect(keyed.asked - askedBefore).toBe(1);
    } finally {
      limited.restore();
    }
  });

  it('is generated every time without a key', async () => {
    const [first, second] = [
      await keyed.gateway.call(PATH, { key: customer.key, body }),
      await keyed.gateway.call(PATH, { key: customer.key, body, headers: { 'idempotency-key': '' } }),
    ];
    expect(first.text).not.toBe(second.text);
    expect(await keyed.states(customer)).toEqual([]);
  });
});

it('executes 100 concurrent requests with one key once: the others get a replay or 409 with Retry-After', async () => {
  const askedBefore = keyed.asked;
  const replies = await Promise.all(Array.from({ length: 100 }, () => keyed.callUntilServed(customer, 'burst')));
  const made = replies.filter(({ status, headers }) => status === 200 && !headers.has('idempotent-replayed'));
  expect(made).toHaveLength(1);
  for (const reply of replies) {
    if (reply.status === 200) expect(reply.text).toBe(made[0]?.text);
    else expectConflict(reply, reply.json.error.retry_after);
  }
  expect(keyed.asked - askedBefore).toBe(1);
  expect(await keyed.spent(customer)).toMatchObject({ reserved: 0, receipts: 1 });
});

it('never executes an interrupted at-most-once request again', async () => {
  await keyed.call(customer, 'image');
  await keyed.rewriteRecords(customer, 'status = 500, body_stored = false');
  const reply = await keyed.call(customer, 'image');
  expect(reply).toMatchObject({ status: 500, json: { error: { code: 'internal_error' } } });
  expect(reply.headers.get('idempotent-replayed')).toBe('true');
});

it('keeps every ledger invariant', async () => {
  expect(await keyed.gateway.violations()).toEqual([]);
});
