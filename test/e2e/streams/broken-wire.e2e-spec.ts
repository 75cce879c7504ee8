/** Connection failures between the gateway and its provider (F-51): before, within and after the response headers. */
import { FakeUpstream } from '../../conformance/fake-upstream';
import { until } from '../../faults/figures';
import { FaultProxy, type WireFaults } from '../../harness/fault-proxy';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { settle } from '../../harness/event-loop';
import { chunk, createCatalog, event, usageChunk } from '../../harness/upstream-models';

const IDLE_TIMEOUT_MS = 2_000;
const STREAM = chunk({ role: 'assistant', content: 'Grüße' }) + chunk({ content: ' 日本 😀' });
const END = chunk({}, 'stop') + usageChunk(10, 5) + event('[DONE]');
const WHOLE = {
  choices: [{ message: { role: 'assistant', content: 'Grüße 日本 😀' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};
const COST_MICRO = 10 + 2 * 5;

const catalog = createCatalog();
let upstream: FakeUpstream;
let wire: FaultProxy;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  wire = await FaultProxy.start(upstream.origin);
  gateway = await TestGateway.start({
    OPENAI_COMPATIBLE_BASE_URL: `${wire.url}/v1`,
    CATALOG_DIR: catalog.path,
    UPSTREAM_IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS),
    UPSTREAM_FIRST_TOKEN_TIMEOUT_MS: '3000',
    UPSTREAM_REPLY_TIMEOUT_MS: '3000',
    CIRCUIT_BREAKER_FAILURES: '0',
    LOG_LEVEL: 'silent',
  });
});
beforeEach(async () => {
  customer = await gateway.customer();
  upstream.answer = (response, { body }) => {
    const streamed = JSON.parse(body).stream === true;
    response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
    response.end(streamed ? STREAM + END : JSON.stringify(WHOLE));
  };
});
afterEach(() => wire.heal());
afterAll(async () => {
  await gateway.stop();
  await wire.close();
  await upstream.stop();
  catalog.remove();
});

const ask = (stream: boolean): Promise<CallReply> =>
  gateway.call('/v1/chat/completions', {
    key: customer.key,
    body: { model: 'local/chat', stream, messages: [{ role: 'user', content: 'hi' }] },
  });
const chargeOf = async (reply: CallReply): Promise<number> => {
  const [row] = await gateway.rows<{ charged: string }>(
    `SELECT charged_micro AS charged FROM usage_record WHERE 'req_' || replace(id::text, '-', '') = $1`,
    [reply.headers.get('x-request-id')],
  );
  return Number(row?.charged);
};
const failureOf = ({ events, json }: CallReply): string | null =>
  json?.error?.code ?? JSON.parse(events.at(-2) ?? '{}').error?.code ?? null;

describe.each([true, false])('streamed: %s', (stream) => {
  it.each<[string, Partial<WireFaults>, number, string]>([
    ['is reset before the head', { cut: { afterBytes: 0, by: 'reset' } }, 503, 'provider_unavailable'],
    ['is reset within the head', { cut: { afterBytes: 20, by: 'reset' } }, 503, 'provider_unavailable'],
    ['ends before the head', { cut: { afterBytes: 0, by: 'end' } }, 503, 'provider_unavailable'],
    ['ends within the head', { cut: { afterBytes: 20, by: 'end' } }, 503, 'provider_unavailable'],
    ['ends within the body', { cut: { afterBytes: 190, by: 'end' } }, 502, 'provider_disconnect'],
    ['is reset within the body', { cut: { afterBytes: 190, by: 'reset' } }, 502, 'provider_disconnect'],
    ['delivers garbage', { garbage: true }, 502, 'provider_error'],
    ['hangs', { hang: true }, 504, 'provider_timeout'],
  ])(
    'returns an HTTP error without a charge, and recovers at once, when a connection %s',
    async (_name, faults, status, code) => {
      // A keep-alive connection has already received headers.
      wire.reset();
      wire.fail('toClient', faults);
      const reply = await ask(stream);
      expect([reply.status, failureOf(reply), await chargeOf(reply)]).toEqual([status, code, 0]);
      wire.heal();
      expect((await ask(stream)).status).toBe(200);
    },
  );

  it('reports a provider that closes every connection as unavailable, and uses it again when it recovers', async () => {
    wire.cutOff();
    const reply = await ask(stream);
    expect([reply.status, failureOf(reply), await chargeOf(reply)]).toEqual([503, 'provider_unavailable', 0]);
    wire.heal();
    expect((await ask(stream)).status).toBe(200);
  });

  it.each<[string, Partial<WireFaults>]>([
    ['byte by byte', { sliceBytes: 1 }],
    ['slowly', { bytesPerSecond: 4_000 }],
    ['late', { latencyMs: 100 }],
  ])('delivers a complete response that arrives %s', async (_name, faults) => {
    wire.fail('both', faults);
    const reply = await ask(stream);
    expect([reply.status, failureOf(reply), await chargeOf(reply)]).toEqual([200, null, COST_MICRO]);
    expect(reply.text.match(/Grüße|日本 😀/g)).toHaveLength(2);
  });
});

it.each<[string, () => void]>([
  ['hangs', () => wire.fail('toClient', { hang: true })],
  ['is reset', () => wire.reset()],
])(
  'interrupts the stream and charges the delivered part when a connection %s after the first token',
  async (_name, fail) => {
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(STREAM);
      void settle(50).then(() => {
        fail();
        response.end(END);
      });
    };
    const reply = await ask(true);
    expect([reply.status, failureOf(reply), reply.events.at(-1)]).toEqual([200, 'stream_interrupted', '[DONE]']);
    expect(await chargeOf(reply)).toBeGreaterThan(0);
  },
);

it('leaves no hold and no open connection', async () => {
  const held = () => gateway.rows(`SELECT id FROM reservation WHERE state = 'held'`);
  await until('the end of all holds', 5_000, async () => (await held()).length === 0);
  expect(await gateway.violations()).toEqual([]);
  expect(wire.open).toBeLessThanOrEqual(2);
});
