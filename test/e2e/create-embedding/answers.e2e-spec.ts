import { EmbeddingGateway, fromBase64 } from './embedding-gateway';

let served: EmbeddingGateway;

beforeAll(async () => {
  served = await EmbeddingGateway.start();
});
afterAll(() => served.stop());

const embeddingsOf = (json: { data: { embedding: unknown }[] }): unknown[] =>
  json.data.map(({ embedding }) => embedding);

describe('an embedding of the mock', () => {
  it('returns a list and its cost, charges that cost, and writes a receipt', async () => {
    const before = await served.balance();
    const reply = await served.embed({ model: 'mock/embed-1', input: 'x'.repeat(400) });
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({
      object: 'list',
      model: 'mock/embed-1',
      data: [{ object: 'embedding', index: 0 }],
    });
    expect(reply.json.data[0].embedding).toHaveLength(1536);
    expect(reply.json.usage).toEqual({ prompt_tokens: 100, total_tokens: 100, x_llm_cost_micro: 2 });
    expect(reply.headers.get('x-llm-cost-micro')).toBe('2');
    expect(reply.headers.get('x-llm-model')).toBe('mock/embed-1');
    expect(before - (await served.balance())).toBe(2);
    const [receipt] = await served.gateway.rows<object>(
      `SELECT operation, status, streamed, charged_micro, input_text FROM usage_record ORDER BY created_at DESC LIMIT 1`,
    );
    expect(receipt).toEqual({
      operation: 'createEmbedding',
      status: 200,
      streamed: false,
      charged_micro: '2',
      input_text: '100',
    });
  });

  it.each<[string, unknown, number]>([
    ['a text', 'one', 1],
    ['texts', ['one', 'two', 'three'], 3],
    ['the token ids of a text', [1, 2, 3], 1],
    ['a text with more token ids than a list may have texts', Array(8_191).fill(1), 1],
    ['the token ids of texts', [[1, 2], [3]], 2],
  ])('accepts %s', async (_case, input, count) => {
    const reply = await served.embed({ model: 'mock/embed-1', input, dimensions: 8 });
    expect(reply.json.data.map(({ index }: { index: number }) => index)).toEqual([...Array(count).keys()]);
    expect(embeddingsOf(reply.json).map((each) => (each as number[]).length)).toEqual(Array(count).fill(8));
  });

  it('returns the same vectors as numbers and in base64', async () => {
    const body = { model: 'mock/embed-1', input: ['one', 'two'], dimensions: 32, user: 'ada' };
    const numbers = embeddingsOf((await served.embed({ ...body, encoding_format: 'float' })).json);
    const base64 = embeddingsOf((await served.embed({ ...body, encoding_format: 'base64' })).json);
    expect(base64.map((each) => fromBase64(String(each)))).toEqual(numbers);
    expect(embeddingsOf((await served.embed({ ...body, encoding_format: null })).json)).toEqual(numbers);
  });

  it.each(['no_usage', 'usage_prompt=0'])('estimates usage that the provider does not report (%s)', async (script) => {
    const directive = `[[mock: ${script}]]`;
    const input = directive.padEnd(400, 'x');
    const reply = await served.embed({ model: 'mock/embed-1', input });
    expect(reply.json.usage).toEqual({
      prompt_tokens: 100,
      total_tokens: 100,
      x_llm_usage_estimated: true,
      x_llm_cost_micro: 2,
    });
  });
});

it('accepts a text of a mebibyte', async () => {
  const { status, json } = await served.embed({
    model: 'mock/embed-1',
    input: 'Many words. '.repeat(87_382),
    dimensions: 4,
  });
  expect([status, json.data.length]).toEqual([200, 1]);
});

describe.each([
  ['local/embed', 'numbers'],
  ['openai/text-embedding-3-small', 'base64'],
])('%s, which the gateway requests as %s', (model, form) => {
  const vectors = [
    [0.5, -0.25],
    [1, 2],
  ];

  it.each(['float', 'base64'])('returns %s to its client', async (format) => {
    served.answerWith(vectors);
    const reply = await served.embed({ model, input: ['a', 'b'], encoding_format: format });
    const got = embeddingsOf(reply.json);
    expect(format === 'base64' ? got.map((each) => fromBase64(String(each))) : got).toEqual(vectors);
    expect(served.lastAsked.encoding_format).toBe(form === 'base64' ? 'base64' : undefined);
    expect(reply.json.usage).toMatchObject({ prompt_tokens: 7, total_tokens: 7 });
  });

  it('passes unknown fields to the provider and withholds gateway fields', async () => {
    served.answerWith([[1, 2]]);
    const routing = { max_attempts: 1 };
    await served.embed({ model, input: [1, 2], dimensions: 2, user: 'ada', input_type: 'query', x_mine: 1, routing });
    const { encoding_format: _format, ...asked } = served.lastAsked;
    expect(asked).toEqual({
      model: expect.any(String),
      input: [1, 2],
      dimensions: 2,
      user: 'ada',
      input_type: 'query',
    });
  });

  it.each([
    ['fewer vectors than inputs', [[1]]],
    ['a vector that is empty', [[1], []]],
    ['vectors of different lengths', [[1], [1, 2]]],
  ])('costs nothing when the provider returns %s', async (_case, answer) => {
    const before = await served.balance();
    served.answerWith(answer);
    const reply = await served.embed({ model, input: ['a', 'b'] });
    expect([reply.status, reply.json.error.code]).toEqual([502, 'provider_error']);
    expect(await served.balance()).toBe(before);
  });
});

describe('the charge', () => {
  it("is the provider's token count for a batch, even above the limit of one input", async () => {
    served.answerWith(
      Array.from({ length: 50 }, () => [1]),
      { prompt_tokens: 4_000 },
    );
    const reply = await served.embed({ model: 'local/embed', input: Array(50).fill('x'.repeat(10)) });
    expect(reply.json.usage).toEqual({ prompt_tokens: 4_000, total_tokens: 4_000, x_llm_cost_micro: 4_000 });
  });

  it('is capped at the hold when the count is implausible', async () => {
    served.answerWith([[1]], { prompt_tokens: 4_000 });
    const reply = await served.embed({ model: 'local/embed', input: 'x'.repeat(40) });
    expect(reply.json.usage.x_llm_cost_micro).toBe(10);
  });
});

describe('a repeated Idempotency-Key', () => {
  it('replays the same bytes without a call or a charge', async () => {
    served.answerWith([[0.1, 0.2]]);
    const body = { model: 'local/embed', input: 'again', encoding_format: 'base64' };
    const first = await served.embed(body, { 'idempotency-key': 'once' });
    const [calls, balance] = [served.upstream.received.length, await served.balance()];
    const second = await served.embed(body, { 'idempotency-key': 'once' });
    expect(second.text).toBe(first.text);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect([served.upstream.received.length, await served.balance()]).toEqual([calls, balance]);
    const other = await served.embed({ ...body, input: 'else' }, { 'idempotency-key': 'once' });
    expect([other.status, other.json.error.code]).toEqual([409, 'idempotency_conflict']);
  });
});

it('leaves a valid ledger', async () => {
  expect(await served.gateway.violations()).toEqual([]);
});
