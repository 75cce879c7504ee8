import { COMMAND_LINE } from '../../../src/common/actor';
import { ApiKeyService } from '../../../src/organizations/api-key.service';
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

/** Both answers are the same to the byte, and only one of them was made. */
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
])('an answer %s', (_title, body) => {
  it('is repeated byte for byte, at no cost and without a receipt', async () => {
    const askedBefore = keyed.asked;
    const first = await keyed.call(customer, 'again', body);
    const spent = await keyed.spent(customer);
    const replay = await keyed.call(customer, 'again', body);
    expectReplay(first, replay);
    expect(await keyed.spent(customer)).toEqual(spent);
    expect(spent).toMatchObject({ reserved: 0, receipts: 1 });
    expect(keyed.asked - askedBefore).toBe(1);
  });

  it('is repeated to a client that writes the same body in another way', async () => {
    const first = await keyed.call(customer, 'rewritten', { ...body, temperature: 1 });
    const members = Object.entries({ ...body, temperature: '1.0e0' }).toReversed();
    const text = `{ ${members.map(([name, value]) => `"${name}" : ${JSON.stringify(value)}`).join(' , ')} }`;
    expectReplay(first, await keyed.call(customer, 'rewritten', text.replace('"1.0e0"', '1.0e0')));
  });

  it('needs no money, no provider and no limit to be repeated', async () => {
    const poor = await keyed.gateway.customer({ requestsPerMinute: 1, concurrency: 1 });
    const first = await keyed.call(poor, 'again', body);
    await keyed.takeMoney(poor);
    keyed.answerStatus(500);
    for (let time = 0; time < 3; time++) expectReplay(first, await keyed.call(poor, 'again', body));
  });

  it('is repeated to another key of the organization, as after a rotation', async () => {
    const first = await keyed.call(customer, 'again', body);
    const keys = keyed.gateway.app.get(ApiKeyService, { strict: false });
    const { key } = await keys.create(customer.organizationId, {}, COMMAND_LINE);
    expectReplay(first, await keyed.call({ ...customer, key }, 'again', body));
  });

  it('is not repeated to a key that may not use a model which stands in', async () => {
    const routed = { ...body, routing: { models: ['local/unbounded'] } };
    expect((await keyed.call(customer, 'again', routed)).status).toBe(200);
    const keys = keyed.gateway.app.get(ApiKeyService, { strict: false });
    const { key } = await keys.create(customer.organizationId, { allowedModels: [body.model] }, COMMAND_LINE);
    const reply = await keyed.call({ ...customer, key }, 'again', routed);
    expect(reply.status).toBe(403);
    expect(reply.json.error).toMatchObject({ code: 'model_not_allowed', param: 'routing.models[0]' });
  });

  it('is not repeated to a key that may not use the model', async () => {
    await keyed.call(customer, 'again', body);
    const keys = keyed.gateway.app.get(ApiKeyService, { strict: false });
    const { key } = await keys.create(customer.organizationId, { allowedModels: ['other/model'] }, COMMAND_LINE);
    const reply = await keyed.call({ ...customer, key }, 'again', body);
    expect(reply.json.error.code).toBe('model_not_allowed');
  });

  it('is not repeated to another organization', async () => {
    const first = await keyed.call(customer, 'again', body);
    const second = await keyed.call(await keyed.gateway.customer(), 'again', body);
    expect(second.headers.get('idempotent-replayed')).toBeNull();
    expect(second.text).not.toBe(first.text);
  });

  it('is made anew when its time is over', async () => {
    const first = await keyed.call(customer, 'again', body);
    await keyed.gateway.rows('UPDATE idempotency_record SET expires_at = now() WHERE organization_id = $1', [
      customer.organizationId,
    ]);
    const second = await keyed.call(customer, 'again', body);
    expect(second.headers.get('idempotent-replayed')).toBeNull();
    expect(second.text).not.toBe(first.text);
    expectReplay(second, await keyed.call(customer, 'again', body));
  });

  it('that is not JSON-equal conflicts, and nothing tells the client to try again', async () => {
    await keyed.call(customer, 'again', body);
    expectConflict(await keyed.call(customer, 'again', { ...body, temperature: 0 }), undefined);
    expectConflict(await keyed.call(customer, 'again', { ...body, unknown_field: null }), undefined);
  });

  it('in the making conflicts with a twin, who is told when to come back', async () => {
    const held = keyed.hold();
    const first = keyed.call(customer, 'twins', body);
    await until(() => held.waiting === 1);
    // No latency of other operations or tests is known to be long, so it is the first guess or less.
    const conflict = await keyed.call(customer, 'twins', body);
    expectConflict(conflict, conflict.json.error.retry_after);
    expect([1, 2]).toContain(conflict.json.error.retry_after);
    expectConflict(await keyed.call(customer, 'twins', { ...body, temperature: 0 }), undefined);
    held.release();
    expectReplay(await first, await keyed.call(customer, 'twins', body));
  });

  it.each([
    ['itself', { maxAnswerBytes: 300 }],
    ['what else the organization has stored', { maxOrganizationBytes: 300 }],
  ])('that is too long for the store because of %s is given once and never made again', async (_reason, limits) => {
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

  it('without a key is made every time', async () => {
    const [first, second] = [
      await keyed.gateway.call(PATH, { key: customer.key, body }),
      await keyed.gateway.call(PATH, { key: customer.key, body, headers: { 'idempotency-key': '' } }),
    ];
    expect(first.text).not.toBe(second.text);
    expect(await keyed.states(customer)).toEqual([]);
  });
});

it('answers 100 twins with one execution: the rest is repeated, or told when to come back', async () => {
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

it('never runs again what was cut off and must run at most once', async () => {
  await keyed.call(customer, 'image');
  await keyed.gateway.rows(
    'UPDATE idempotency_record SET status = 500, body_stored = false WHERE organization_id = $1',
    [customer.organizationId],
  );
  const reply = await keyed.call(customer, 'image');
  expect(reply).toMatchObject({ status: 500, json: { error: { code: 'internal_error' } } });
  expect(reply.headers.get('idempotent-replayed')).toBe('true');
});

it('keeps every invariant of the books', async () => {
  expect(await keyed.gateway.violations()).toEqual([]);
});
