import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { ReservationService } from '../../../src/billing/ledger/reservation.service';
import { unavailable } from '../../../src/billing/ledger/billing-unavailable';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { until } from '../idempotency/keyed-gateway';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { settle } from '../../harness/event-loop';
import { chunk, createCatalog, event, usageChunk } from '../../harness/upstream-models';

const PATH = '/v1/chat/completions';
const MESSAGES = [{ role: 'user', content: 'hi' }];
const TOTAL_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 3_000;
const PING_MS = 200;

const catalog = createCatalog();
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  gateway = await TestGateway.start({
    OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
    CATALOG_DIR: catalog.path,
    UPSTREAM_TOTAL_TIMEOUT_MS: String(TOTAL_TIMEOUT_MS),
    UPSTREAM_IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS),
    SSE_PING_MS: String(PING_MS),
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterEach(() => jest.restoreAllMocks());

const plays = (play: (response: ServerResponse) => Promise<void> | void): void => {
  upstream.answer = (response) => {
    response.setHeader('content-type', 'text/event-stream');
    void play(response);
  };
};
const stream = (model = 'local/chat'): Promise<CallReply> =>
  gateway.call(PATH, { key: customer.key, body: { model, stream: true, messages: MESSAGES } });
const accountOf = async (): Promise<{ balance: number; reserved: number }> => {
  const [row] = await gateway.rows<{ balance: string; reserved: string }>(
    'SELECT balance_micro AS balance, reserved_micro AS reserved FROM organization_account WHERE organization_id = $1',
    [customer.organizationId],
  );
  return { balance: Number(row?.balance), reserved: Number(row?.reserved) };
};
const receiptOf = async (): Promise<Record<string, unknown> | undefined> => {
  const [row] = await gateway.rows<Record<string, unknown>>('SELECT * FROM usage_record WHERE organization_id = $1', [
    customer.organizationId,
  ]);
  return row;
};

describe('usage reported more than once', () => {
  it('charges the last usage of a stream whose first chunk already reported one', async () => {
    plays(async (response) => {
      response.write(chunk({ content: 'Hello' }, null, { usage: { prompt_tokens: 0, completion_tokens: 0 } }));
      await settle(50);
      response.write(chunk({ content: ' world' }));
      await settle(50);
      response.write(chunk({}, 'stop'));
      await settle(100);
      response.end(usageChunk(1_000, 500) + event('[DONE]'));
    });
    const reply = await stream();
    expect(JSON.parse(reply.events.at(-2) ?? '').usage).toMatchObject({
      prompt_tokens: 1_000,
      completion_tokens: 500,
      x_llm_cost_micro: 2_000,
    });
  });

  it('charges the delivered part when a stream is cut after an early usage of zero', async () => {
    plays(async (response) => {
      response.write(chunk({ content: 'Hello' }, null, { usage: { prompt_tokens: 0, completion_tokens: 0 } }));
      await settle(50);
      response.write(chunk({ content: ' world'.repeat(1_000) }));
      await settle(100);
      response.destroy();
    });
    await stream();
    expect(Number((await receiptOf())?.['charged_micro'])).toBeGreaterThan(1_000);
  });
});

it('ignores an empty finish reason: the stream continues', async () => {
  plays(async (response) => {
    response.write(chunk({ content: 'Hello' }, ''));
    await settle(30);
    response.write(chunk({ content: ' world' }, ''));
    await settle(30);
    response.end(chunk({}, 'stop') + usageChunk(10, 5) + event('[DONE]'));
  });
  const reply = await stream();
  const text = reply.events
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data).choices[0]?.delta.content ?? '')
    .join('');
  expect(text).toBe('Hello world');
});

it('charges the delivered arguments of an interrupted function_call stream', async () => {
  plays(async (response) => {
    response.write(chunk({ role: 'assistant', content: null, function_call: { name: 'f', arguments: '' } }));
    for (let index = 0; index < 20; index++) {
      response.write(chunk({ function_call: { arguments: 'x'.repeat(400) } }));
      await settle(5);
    }
    await settle(50);
    response.destroy();
  });
  await stream();
  expect(Number((await receiptOf())?.['charged_micro'])).toBeGreaterThan(1_000);
});

it('caps the charge at the hold for implausible usage, also for a model without a context length', async () => {
  plays((response) => {
    response.end(chunk({ content: 'Hello' }) + chunk({}, 'stop') + usageChunk(1e15, 1e15) + event('[DONE]'));
  });
  const reply = await stream('local/unbounded');
  const hold = Number(reply.headers.get('x-llm-cost-micro'));
  expect(10_000_000 - (await accountOf()).balance).toBeLessThanOrEqual(hold);
});

it('ends and charges a stream whose client stops reading', async () => {
  plays(async (response) => {
    const text = chunk({ content: ' y'.repeat(50_000) });
    while (!response.destroyed) {
      if (!response.write(text)) await new Promise<void>((resolve) => response.once('drain', resolve));
    }
  });
  const body = JSON.stringify({ model: 'local/chat', stream: true, messages: MESSAGES });
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.once('data', () => socket.pause());
  socket.write(
    `POST ${PATH} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${customer.key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await until(async () => (await receiptOf()) !== undefined);
  const account = await accountOf();
  socket.destroy();
  expect(account.reserved).toBe(0);
  expect(account.balance).toBeLessThan(10_000_000);
});

it('ends a started stream even if its hold cannot be released', async () => {
  plays(async (response) => {
    response.write(chunk({ role: 'assistant', content: '' }));
    await settle(100);
    response.destroy();
  });
  jest.spyOn(gateway.app.get(ReservationService, { strict: false }), 'finish').mockRejectedValue(unavailable());
  const reply = await gateway.call(PATH, {
    key: customer.key,
    body: { model: 'local/chat', stream: true, messages: MESSAGES },
    signal: AbortSignal.timeout(60_000),
  });
  expect(reply.events.at(-1)).toBe('[DONE]');
  expect(JSON.parse(reply.events.at(-2) ?? '').error.code).toBe('stream_interrupted');
});

it('writes the status that the client received into the receipt of a request whose hold was lost', async () => {
  upstream.answer = (response) => {
    const reply = {
      choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 4 },
    };
    void gateway
      .rows(
        `SELECT money_finish(array_agg(id), array_agg(organization_id), array_agg('expired'::text), array_agg(0::bigint))
           FROM reservation WHERE organization_id = $1 AND state = 'held'`,
        [customer.organizationId],
      )
      .then(() => response.setHeader('content-type', 'application/json').end(JSON.stringify(reply)));
  };
  const reply = await gateway.call(PATH, { key: customer.key, body: { model: 'local/chat', messages: MESSAGES } });
  expect(reply.status).toBe(503);
  expect(await receiptOf()).toMatchObject({ status: 503, error_code: 'service_unavailable' });
});

it('keeps the hold for longer than the common deadline of all attempts', async () => {
  const reserve = jest.spyOn(gateway.app.get(ReservationService, { strict: false }), 'reserve');
  plays((response) => void response.end(chunk({ content: 'Hello' }, 'stop') + usageChunk(3, 4) + event('[DONE]')));
  await stream('local/chat');
  await stream('local/four');
  const [single, four] = reserve.mock.calls.map(([command]) => command.ttlSeconds);
  expect(single).toBeGreaterThan(TOTAL_TIMEOUT_MS / 1_000 + 60);
  expect(four).toBe(single);
});
