import { TestGateway, type TestCustomer } from '../../harness/gateway';

const PATH = '/v1/chat/completions';
const HELLO = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Say hello' }] };

let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateway = await TestGateway.start();
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

interface Record {
  status: number;
  error_code: string | null;
  streamed: boolean;
  provider: string;
  charged_micro: string;
  input_text: string;
  output_text: string;
  attempts: number;
}
const recordOf = async (requestId: string): Promise<Record | undefined> => {
  const id = requestId.replace(/^req_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const [row] = await gateway.rows<Record>('SELECT * FROM usage_record WHERE id = $1', [id]);
  return row;
};
const balanceOf = async (organizationId: string): Promise<{ balance: bigint; reserved: bigint }> => {
  const [row] = await gateway.rows<{ balance_micro: string; reserved_micro: string }>(
    'SELECT balance_micro, reserved_micro FROM organization_account WHERE organization_id = $1',
    [organizationId],
  );
  return { balance: BigInt(row?.balance_micro ?? 0), reserved: BigInt(row?.reserved_micro ?? 0) };
};

describe('a non-streamed chat completion', () => {
  it('responds, charges exactly the reported usage, and writes a receipt', async () => {
    const before = await balanceOf(customer.organizationId);
    const reply = await gateway.call(PATH, { key: customer.key, body: HELLO });
    expect(reply.status).toBe(200);
    expect(reply.json.choices[0].message.content).not.toBe('');
    expect(reply.headers.get('x-llm-model')).toBe('mock/chat-1');
    const cost = reply.json.usage.x_llm_cost_micro;
    expect(cost).toBeGreaterThan(0);
    expect(reply.headers.get('x-llm-cost-micro')).toBe(String(cost));

    const after = await balanceOf(customer.organizationId);
    expect(before.balance - after.balance).toBe(BigInt(cost));
    expect(after.reserved).toBe(0n);
    expect(await recordOf(reply.headers.get('x-request-id') ?? '')).toMatchObject({
      status: 200,
      error_code: null,
      streamed: false,
      provider: 'mock',
      charged_micro: String(cost),
      input_text: String(reply.json.usage.prompt_tokens),
      output_text: String(reply.json.usage.completion_tokens),
      attempts: 1,
    });
  });

  it('marks usage as estimated when the provider reports none', async () => {
    const body = { ...HELLO, messages: [{ role: 'user', content: 'Say hello [[mock: no_usage]]' }] };
    const reply = await gateway.call(PATH, { key: customer.key, body });
    expect(reply.json.usage.x_llm_usage_estimated).toBe(true);
    expect(reply.json.usage.x_llm_cost_micro).toBeGreaterThan(0);
  });

  it.each([
    ['no tokens at all', 'usage_prompt=0 usage_completion=0'],
    ['no tokens of the answer', 'usage_prompt=7 usage_completion=0'],
    ['no tokens of the prompt', 'usage_prompt=0 usage_completion=7'],
  ])('estimates what a provider leaves out that counts %s, whole and streamed', async (_case, script) => {
    const messages = [{ role: 'user', content: `Say hello [[mock: ${script}]]` }];
    const whole = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, messages } });
    const streamed = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, messages, stream: true } });
    for (const { usage } of [whole.json, JSON.parse(streamed.events.at(-2) ?? '{}')]) {
      expect(usage.x_llm_usage_estimated).toBe(true);
      expect([usage.prompt_tokens, usage.completion_tokens].map((tokens) => tokens > 0)).toEqual([true, true]);
      if (script.includes('usage_prompt=7')) expect(usage.prompt_tokens).toBe(7);
      if (script.includes('usage_completion=7')) expect(usage.completion_tokens).toBe(7);
      expect(usage.x_llm_cost_micro).toBeGreaterThan(0);
    }
    expect(await recordOf(whole.headers.get('x-request-id') ?? '')).toMatchObject({
      charged_micro: String(whole.json.usage.x_llm_cost_micro),
      output_text: String(whole.json.usage.completion_tokens),
    });
  });

  it('caps the charge at the hold when the reported usage is implausible', async () => {
    const liar = await gateway.customer();
    const messages = [{ role: 'user', content: 'Hello [[mock: usage_prompt=900000000 usage_completion=5]]' }];
    const reply = await gateway.call(PATH, { key: liar.key, body: { ...HELLO, max_tokens: 10, messages } });
    expect(reply.status).toBe(200);
    expect(reply.json.usage.x_llm_cost_micro).toBeLessThan(100);
    expect((await balanceOf(liar.organizationId)).balance).toBeGreaterThan(9_999_000n);
  });

  it('withholds gateway fields from the provider and forwards unknown fields', async () => {
    const body = { ...HELLO, routing: { allow_fallbacks: false }, x_note: 'mine', some_new_parameter: true };
    expect((await gateway.call(PATH, { key: customer.key, body })).status).toBe(200);
  });
});

describe('a streamed chat completion', () => {
  it('ends with finish chunk, usage chunk and [DONE], charged before the last of them', async () => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, stream: true } });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toContain('text/event-stream');
    expect(reply.events.at(-1)).toBe('[DONE]');
    const chunks = reply.events.slice(0, -1).map((event) => JSON.parse(event));
    const usage = chunks.at(-1);
    expect(usage.choices).toEqual([]);
    expect(chunks.at(-2).choices[0].finish_reason).toBe('stop');
    expect(chunks[0].choices[0].delta.role).toBe('assistant');
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
    expect(chunks.slice(0, -1).every((chunk) => !('usage' in chunk))).toBe(true);
    const record = await recordOf(reply.headers.get('x-request-id') ?? '');
    expect(record).toMatchObject({ status: 200, streamed: true, charged_micro: String(usage.usage.x_llm_cost_micro) });
    expect(Number(reply.headers.get('x-llm-cost-micro'))).toBeGreaterThanOrEqual(usage.usage.x_llm_cost_micro);
  });

  it('gives a real status when the provider fails before the first event', async () => {
    const body = { ...HELLO, stream: true, messages: [{ role: 'user', content: '[[mock: status=503]]' }] };
    const reply = await gateway.call(PATH, { key: customer.key, body });
    expect(reply.status).toBe(503);
    expect(reply.json.error.code).toBe('provider_unavailable');
  });

  it.each([
    ['reset_after=3', 'stream_interrupted'],
    ['error_after=2', 'stream_interrupted'],
    ['no_finish', 'provider_disconnect'],
  ])(
    'never looks complete after %s: sends the error envelope, then [DONE], and charges the delivered part',
    async (script, code) => {
      const messages = [{ role: 'user', content: `Tell me a story [[mock: ${script}]]` }];
      const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, stream: true, messages } });
      expect(reply.status).toBe(200);
      expect(reply.events.at(-1)).toBe('[DONE]');
      const failure = JSON.parse(reply.events.at(-2) ?? '');
      expect(failure.error).toMatchObject({ code, request_id: reply.headers.get('x-request-id') });
      const record = await recordOf(failure.error.request_id);
      expect(record).toMatchObject({ error_code: code, status: 502 });
      expect(Number(record?.charged_micro)).toBeGreaterThan(0);
    },
  );
});

describe('a client that disconnects', () => {
  it('pays for the prompt and the delivered part, and no hold remains', async () => {
    const leaver = await gateway.customer();
    const abort = new AbortController();
    const response = await fetch(`${gateway.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${leaver.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...HELLO,
        stream: true,
        messages: [{ role: 'user', content: 'Count [[mock: chunks=1000 delay=5]]' }],
      }),
      signal: abort.signal,
    });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.read();
    abort.abort();
    await reader?.closed.catch(() => undefined);
    const record = await waitFor(() => recordOf(response.headers.get('x-request-id') ?? ''));
    expect(record.status).toBe(499);
    expect(Number(record.charged_micro)).toBeGreaterThan(0);
    expect((await balanceOf(leaver.organizationId)).reserved).toBe(0n);
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateway.violations()).toEqual([]);
});

async function waitFor<Value>(read: () => Promise<Value | undefined>): Promise<Value> {
  for (;;) {
    const value = await read();
    if (value !== undefined) return value;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the hold of a prompt', () => {
  const content = 'word '.repeat(8_000);
  const marker = { cache_control: { type: 'ephemeral' } };
  const holdOf = async (body: object): Promise<number> => {
    const { headers } = await gateway.call(PATH, {
      key: customer.key,
      body: { ...HELLO, stream: true, max_tokens: 1, ...body },
    });
    return Number(headers.get('x-llm-cost-micro'));
  };

  it.each<[string, object]>([
    ['part', { messages: [{ role: 'user', content: [{ type: 'text', text: content, ...marker }] }] }],
    ['message', { messages: [{ role: 'user', content, ...marker }] }],
    ['request', { messages: [{ role: 'user', content }], ...marker }],
    ['request of OpenAI', { messages: [{ role: 'user', content }], prompt_cache_options: { ttl: '12h' } }],
    [
      'tool',
      {
        messages: [{ role: 'user', content }],
        tools: [{ type: 'function', function: { name: 'f' }, ...marker }],
      },
    ],
  ])('covers the cache write that a marker of a %s asks for', async (_place, body) => {
    const plain = await holdOf({ messages: [{ role: 'user', content }] });
    expect((await holdOf(body)) / plain).toBeCloseTo(1.25, 2);
  });
});
