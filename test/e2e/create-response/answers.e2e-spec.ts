import { unavailable } from '../../../src/billing/ledger/billing-unavailable';
import { ReservationService } from '../../../src/billing/ledger/reservation.service';
import { rebuild, type ResponseEvent } from '../../conformance/response-reader';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { heldMicro, recordsOf, soleRecordOf } from '../../clients/traces';

const PATH = '/v1/responses';
const HELLO = { model: 'mock/chat-1', input: 'Say hello' };
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateway = await TestGateway.start();
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

const ask = (fields: object, headers?: Record<string, string>): Promise<CallReply> =>
  gateway.call(PATH, { key: customer.key, body: { ...HELLO, ...fields }, headers });
const eventsOf = ({ events }: CallReply): ResponseEvent[] => events.slice(0, -1).map((event) => JSON.parse(event));

describe('a non-streamed response', () => {
  it('contains the output, its usage and the charge', async () => {
    const reply = await ask({});
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({ object: 'response', status: 'completed', model: 'mock/chat-1' });
    const [message] = reply.json.output;
    expect(message.content[0].text).toContain('You asked "Say hello');
    const { x_llm_cost_micro: cost, ...usage } = reply.json.usage;
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(cost));
    expect(reply.headers.get('x-llm-model')).toBe('mock/chat-1');
    expect(reply.json.id).toBe(`resp_${(reply.headers.get('x-request-id') ?? '').slice('req_'.length)}`);
    expect(await recordsOf(gateway, customer)).toMatchObject([
      {
        operation: 'createResponse',
        status: 200,
        charged_micro: String(cost),
        output_text: String(usage.output_tokens),
      },
    ]);
    expect(await heldMicro(gateway, customer)).toBe(0);
  });

  it('equals the chat output for the same conversation', async () => {
    const input = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] },
      { role: 'user', content: 'Tell me about tea' },
    ];
    const [system, user] = [{ role: 'system', content: 'Be brief.' }, input[0]];
    const messages = [system, user, { role: 'assistant', content: 'Hello.' }, input[2]];
    const response = await ask({ instructions: 'Be brief.', input });
    const chat = await gateway.call('/v1/chat/completions', {
      key: customer.key,
      body: { model: HELLO.model, messages },
    });
    expect(response.json.output[0].content[0].text).toBe(chat.json.choices[0].message.content);
    expect(response.json.usage.x_llm_cost_micro).toBe(chat.json.usage.x_llm_cost_micro);
  });

  it('ignores unsupported settings and reports that', async () => {
    const reply = await ask({
      store: true,
      background: true,
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      truncation: 'auto',
      client_metadata: { a: 1 },
      tools: [{ type: 'web_search' }, { type: 'namespace', name: 'n', tools: [] }],
      tool_choice: { type: 'web_search' },
      parallel_tool_calls: false,
      metadata: { purpose: 'test' },
    });
    expect(reply.json).toMatchObject({
      status: 'completed',
      store: false,
      background: false,
      reasoning: null,
      tools: [],
      tool_choice: 'auto',
      truncation: 'disabled',
      metadata: { purpose: 'test' },
    });
  });

  it('calls functions and continues with their results', async () => {
    const question = { role: 'user', content: 'How is the weather in Lima?' };
    const first = await ask({ input: [question], tools: [WEATHER] });
    const [call] = first.json.output;
    expect(call).toMatchObject({ type: 'function_call', name: 'get_weather', status: 'completed' });
    expect(JSON.parse(call.arguments)).toEqual({ city: 'Lima' });
    const result = { type: 'function_call_output', call_id: call.call_id, output: '{"sky":"clear"}' };
    const second = await ask({ input: [question, ...first.json.output, result], tools: [WEATHER] });
    expect(second.json.output[0].content[0].text).toContain('get_weather returned {"sky":"clear"}');
  });

  it('follows a JSON schema', async () => {
    const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] };
    const reply = await ask({ text: { format: { type: 'json_schema', name: 'person', schema, strict: true } } });
    expect(JSON.parse(reply.json.output[0].content[0].text)).toEqual({ age: expect.any(Number) });
    expect(reply.json.text.format).toMatchObject({ type: 'json_schema', name: 'person' });
  });

  it('is incomplete when max_output_tokens cuts it', async () => {
    const reply = await ask({ input: 'Tell me a story', max_output_tokens: 3 });
    expect(reply.json).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete' }],
      usage: { output_tokens: 3 },
    });
  });
});

describe('a streamed response', () => {
  it('sends the same output as events, with the cost in the last one, charged before it is sent', async () => {
    const whole = await ask({});
    const reply = await ask({ stream: true });
    expect(reply.headers.get('content-type')).toContain('text/event-stream');
    const events = eventsOf(reply);
    const { response } = events.at(-1);
    expect(rebuild(events)).toEqual(response.output);
    expect(response.output[0].content).toEqual(whole.json.output[0].content);
    expect(response.usage).toEqual(whole.json.usage);
    expect(events[0].response).toMatchObject({ id: response.id, status: 'in_progress', model: 'mock/chat-1' });
    expect(events.filter(({ type }) => type === 'response.output_text.delta').length).toBeGreaterThan(3);
    expect(Number(reply.headers.get('x-llm-cost-micro'))).toBeGreaterThanOrEqual(response.usage.x_llm_cost_micro);
    const charged = (await recordsOf(gateway, customer)).map(({ charged_micro: micro }) => Number(micro));
    expect(charged).toEqual([whole.json.usage.x_llm_cost_micro, response.usage.x_llm_cost_micro]);
  });

  it('streams parallel calls', async () => {
    const clock = { type: 'function', name: 'get_time', parameters: WEATHER.parameters };
    const input = 'What are the weather and the time in Paris?';
    const events = eventsOf(await ask({ stream: true, input, tools: [WEATHER, clock] }));
    const calls = rebuild(events).map(({ name, arguments: text }) => [name, JSON.parse(text)]);
    expect(calls).toEqual([
      ['get_weather', { city: 'Paris' }],
      ['get_time', { city: 'Paris' }],
    ]);
  });

  it('ends as incomplete when max_output_tokens cuts it', async () => {
    const events = eventsOf(await ask({ stream: true, input: 'Tell me a story', max_output_tokens: 3 }));
    expect(events.at(-1)).toMatchObject({ type: 'response.incomplete', response: { usage: { output_tokens: 3 } } });
  });

  it('gives a real status when the provider fails before the first event', async () => {
    const reply = await ask({ stream: true, input: '[[mock: status=503]]' });
    expect([reply.status, reply.json.error.code]).toEqual([503, 'provider_unavailable']);
  });

  it.each([
    ['reset_after=3', 'stream_interrupted'],
    ['error_after=2', 'stream_interrupted'],
    ['no_finish', 'provider_disconnect'],
  ])('never looks complete after %s: response.failed, error, [DONE]', async (script, code) => {
    const reply = await ask({ stream: true, input: `Tell me a story [[mock: ${script}]]` });
    expect([reply.status, reply.events.at(-1)]).toEqual([200, '[DONE]']);
    const [failed, envelope] = eventsOf(reply).slice(-2);
    expect(failed).toMatchObject({
      type: 'response.failed',
      sequence_number: reply.events.length - 3,
      response: { status: 'failed', error: { message: envelope.error.message }, output: [{ status: 'incomplete' }] },
    });
    expect(envelope.error).toMatchObject({ code, request_id: reply.headers.get('x-request-id') });
    const { message } = envelope.error;
    const number = reply.events.length - 2;
    expect(envelope).toMatchObject({ type: 'error', sequence_number: number, code, message, param: null });
    expect(reply.text).not.toContain('response.completed');
    const [record] = await recordsOf(gateway, customer);
    expect(record).toMatchObject({ status: 502, error_code: code });
    expect(Number(record?.charged_micro)).toBeGreaterThan(0);
  });

  it('does not look complete either when its charge cannot be committed', async () => {
    const reservations = gateway.app.get(ReservationService, { strict: false });
    const finish = jest.spyOn(reservations, 'finish').mockRejectedValueOnce(unavailable());
    const reply = await ask({ stream: true });
    finish.mockRestore();
    const events = eventsOf(reply);
    const [failed, envelope] = events.slice(-2);
    expect(failed).toMatchObject({ type: 'response.failed', sequence_number: events.length - 2 });
    expect(envelope.error.code).toBe('service_unavailable');
    expect(reply.text).not.toContain('response.completed');
  });

  it('charges the part sent before a disconnect and leaves no hold', async () => {
    const abort = new AbortController();
    const response = await fetch(`${gateway.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...HELLO, stream: true, input: 'Count [[mock: chunks=1000 delay=5ms]]' }),
      signal: abort.signal,
    });
    const reader = response.body?.getReader();
    for (let text = ''; !text.includes('output_text.delta');) {
      text += new TextDecoder().decode((await reader?.read())?.value);
    }
    abort.abort();
    const record = await soleRecordOf(gateway, customer);
    expect(record).toMatchObject({ status: 499, error_code: null, usage_estimated: true });
    expect(Number(record.charged_micro)).toBeGreaterThan(0);
    expect(await heldMicro(gateway, customer)).toBe(0);
  });
});

describe('under an Idempotency-Key', () => {
  it.each([false, true])('replays the same bytes without a second charge, streamed: %s', async (stream) => {
    const headers = { 'idempotency-key': 'once' };
    const first = await ask({ stream }, headers);
    const again = await ask({ stream }, headers);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-llm-cost-micro')).toBe(first.headers.get('x-llm-cost-micro'));
    expect(await recordsOf(gateway, customer)).toHaveLength(1);
    const other = await ask({ stream, input: 'Something else' }, headers);
    expect([other.status, other.json.error.code]).toEqual([409, 'idempotency_conflict']);
  });

  it('frees the key when the stream breaks', async () => {
    const headers = { 'idempotency-key': 'once' };
    const body = { stream: true, input: 'Tell me a story [[mock: reset_after=3]]' };
    await ask(body, headers);
    const again = await ask(body, headers);
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    expect(await recordsOf(gateway, customer)).toHaveLength(2);
  });
});

it('counts toward the limits of the key like every other request', async () => {
  customer = await gateway.customer({ requestsPerMinute: 1 });
  expect((await ask({})).status).toBe(200);
  const reply = await ask({});
  expect([reply.status, reply.json.error.code]).toEqual([429, 'rate_limited']);
});

it('keeps every ledger invariant', async () => {
  expect(await gateway.violations()).toEqual([]);
});
