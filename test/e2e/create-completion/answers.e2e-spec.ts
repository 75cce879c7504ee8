import { event, usageChunk } from '../../harness/upstream-models';
import { CompletionGateway } from './completion-gateway';

let served: CompletionGateway;

beforeAll(async () => {
  served = await CompletionGateway.start();
});
afterAll(() => served.stop());

const HELLO = { model: 'mock/chat-1', prompt: 'Say hello [[mock: delay=0]]' };
const textChunk = (text: string, reason: string | null = null): string =>
  event({ id: 'cmpl-up', created: 5, choices: [{ index: 0, text, logprobs: null, finish_reason: reason }] });

interface Chunk {
  readonly id: string;
  readonly choices: readonly { readonly text: string; readonly finish_reason: string | null }[];
  readonly usage?: { readonly completion_tokens: number; readonly x_llm_cost_micro: number };
}
const chunksOf = (events: readonly string[]): Chunk[] => {
  expect(events.at(-1)).toBe('[DONE]');
  return events.slice(0, -1).map((data) => JSON.parse(data) as Chunk);
};
const textOf = (chunks: readonly Chunk[]): string => chunks.map(({ choices: [choice] }) => choice?.text ?? '').join('');

describe('a completion by a chat model', () => {
  it('returns a text and its cost, charges that cost, and writes a receipt', async () => {
    const before = await served.balance();
    const { status, headers, json } = await served.complete({ ...HELLO, max_tokens: 500 });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      object: 'text_completion',
      model: 'mock/chat-1',
      choices: [{ finish_reason: 'stop' }],
    });
    expect(json.choices[0].text).toContain('hello');
    expect(json.usage.total_tokens).toBe(json.usage.prompt_tokens + json.usage.completion_tokens);
    const cost = json.usage.x_llm_cost_micro;
    expect(headers.get('x-llm-cost-micro')).toBe(String(cost));
    expect(headers.get('x-llm-model')).toBe('mock/chat-1');
    expect(before - (await served.balance())).toBe(cost);
    const [receipt] = await served.gateway.rows<object>(
      'SELECT operation, status, charged_micro, output_text FROM usage_record ORDER BY created_at DESC LIMIT 1',
    );
    expect(receipt).toEqual({
      operation: 'createCompletion',
      status: 200,
      charged_micro: String(cost),
      output_text: String(json.usage.completion_tokens),
    });
  });

  it("is limited to 16 tokens by default, as in OpenAI's format", async () => {
    const { json } = await served.complete({ ...HELLO, prompt: ['Tell me everything [[mock: tokens=100]]'] });
    expect([json.usage.completion_tokens, json.choices[0].finish_reason]).toEqual([16, 'length']);
  });

  it('streams the same text, then its usage, and charges that usage', async () => {
    const body = { ...HELLO, max_tokens: 500 };
    const whole = await served.complete(body);
    const before = await served.balance();
    const reply = await served.complete({ ...body, stream: true });
    const chunks = chunksOf(reply.events);
    expect(textOf(chunks)).toBe(whole.json.choices[0].text);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks[0]?.id).toMatch(/^cmpl-/);
    const last = chunks.at(-1);
    expect(last?.choices).toEqual([]);
    expect(last?.usage).toMatchObject({ completion_tokens: whole.json.usage.completion_tokens });
    expect(before - (await served.balance())).toBe(last?.usage?.x_llm_cost_micro);
  });

  it('begins with the prompt for echo, streamed or not, at no extra cost', async () => {
    const plain = await served.complete(HELLO);
    const echoed = await served.complete({ ...HELLO, echo: true });
    expect(echoed.json.choices[0].text).toBe(HELLO.prompt + plain.json.choices[0].text);
    expect(echoed.json.usage).toEqual(plain.json.usage);
    const streamed = await served.complete({ ...HELLO, echo: true, stream: true });
    expect(textOf(chunksOf(streamed.events))).toBe(echoed.json.choices[0].text);
  });

  it('ends at a stop sequence, and returns the log probabilities of its tokens', async () => {
    const { json } = await served.complete({ ...HELLO, max_tokens: 200, stop: ['hello'], logprobs: 2 });
    const [{ text, logprobs }] = json.choices;
    expect(text).not.toContain('hello');
    expect(logprobs.tokens.join('')).toBe(text);
    expect(Object.keys(logprobs.top_logprobs[0])).toHaveLength(2);
  });

  it('reports an interruption in the stream and charges the delivered part', async () => {
    const before = await served.balance();
    const prompt = 'Tell me about tea. [[mock: delay=0 reset_after=3]]';
    const { status, events } = await served.complete({ ...HELLO, prompt, stream: true });
    expect([status, JSON.parse(events.at(-2) ?? '{}').error.code]).toEqual([200, 'stream_interrupted']);
    expect(await served.balance()).toBeLessThan(before);
  });

  it('is requested as a chat of one message', async () => {
    served.upstream.answer = (response) =>
      response.end(
        JSON.stringify({
          id: 'chatcmpl-7',
          choices: [{ message: { role: 'assistant', content: ' upon a time' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
        }),
      );
    const fields = { max_tokens: 9, temperature: 0, user: 'ada', top_k: 3, x_mine: 1, routing: {}, best_of: 1, n: 1 };
    const { json } = await served.complete({ model: 'local/chat', prompt: 'Once', ...fields });
    expect(json).toMatchObject({ id: 'cmpl-7', choices: [{ text: ' upon a time', finish_reason: 'stop' }] });
    expect(json.usage.x_llm_cost_micro).toBe(13);
    expect(served.lastAsked).toEqual({
      url: '/v1/chat/completions',
      body: {
        model: 'chat',
        messages: [{ role: 'user', content: 'Once' }],
        max_tokens: 9,
        temperature: 0,
        user: 'ada',
        top_k: 3,
      },
    });
  });
});

describe('a completion by a text completion model', () => {
  it('passes the request and the response through unchanged', async () => {
    const logprobs = { tokens: [' upon'], token_logprobs: [-1], top_logprobs: null, text_offset: [4] };
    served.upstream.answer = (response) =>
      response.end(
        JSON.stringify({
          id: 'cmpl-9',
          choices: [{ text: 'Once upon', logprobs, finish_reason: 'length' }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        }),
      );
    const fields = { suffix: 'the end', echo: true, logprobs: 0, max_tokens: 1, min_p: 0.1 };
    const { json } = await served.complete({ model: 'local/base', prompt: ['Once'], ...fields, x_mine: 1, n: 1 });
    expect(json.choices).toEqual([{ text: 'Once upon', index: 0, logprobs, finish_reason: 'length' }]);
    expect(json).toMatchObject({ id: 'cmpl-9', model: 'local/base', usage: { x_llm_cost_micro: 3 } });
    expect(served.lastAsked).toEqual({ url: '/v1/completions', body: { model: 'base', prompt: 'Once', ...fields } });
  });

  it('streams the text, then its usage', async () => {
    served.upstream.answer = (response) =>
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(textChunk(' upon') + textChunk(' a') + textChunk('', 'length') + usageChunk(1, 2) + event('[DONE]'));
    const reply = await served.complete({ model: 'local/base', prompt: 'Once', max_tokens: 2, stream: true });
    const chunks = chunksOf(reply.events);
    expect(textOf(chunks)).toBe(' upon a');
    expect(chunks.at(-1)).toMatchObject({ id: 'cmpl-up', choices: [], usage: { x_llm_cost_micro: 5 } });
    expect(served.lastAsked.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it.each([false, true])('is charged by its bytes when no usage is reported (stream: %s)', async (stream) => {
    const text = 'x'.repeat(40);
    served.upstream.answer = (response) => {
      if (!stream) return response.end(JSON.stringify({ choices: [{ text, finish_reason: 'stop' }] }));
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).end(textChunk(text, 'stop'));
    };
    const { json, events } = await served.complete({ model: 'local/base', prompt: 'y'.repeat(40), stream });
    const { usage } = json ?? chunksOf([...events]).at(-1);
    expect(usage).toMatchObject({
      prompt_tokens: 14,
      completion_tokens: 10,
      x_llm_usage_estimated: true,
      x_llm_cost_micro: 34,
    });
  });

  it.each([
    ['without a finish reason', '', 'provider_disconnect'],
    ['with an error', event({ error: { message: 'x', type: 'server_error' } }), 'stream_interrupted'],
  ])('reports in the stream that it ended %s', async (_case, end, code) => {
    served.upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(textChunk(' upon'), () => setImmediate(() => response.end(end)));
    };
    const { events } = await served.complete({ model: 'local/base', prompt: 'Once', stream: true });
    expect(JSON.parse(events.at(-2) ?? '{}').error?.code).toBe(code);
  });
});

describe('a repeated Idempotency-Key', () => {
  it.each([false, true])('replays the same bytes without a charge (stream: %s)', async (stream) => {
    const headers = { 'idempotency-key': `once-${stream}` };
    const first = await served.complete({ ...HELLO, stream }, headers);
    const balance = await served.balance();
    const second = await served.complete({ ...HELLO, stream }, headers);
    expect([second.text, second.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect(await served.balance()).toBe(balance);
  });

  it('is a different key on the chat endpoint', async () => {
    const headers = { 'idempotency-key': 'both' };
    await served.complete(HELLO, headers);
    const body = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };
    const chat = await served.gateway.call('/v1/chat/completions', { key: served.customer.key, headers, body });
    expect([chat.status, chat.headers.get('idempotent-replayed')]).toEqual([200, null]);
  });
});

it('streams eight thousand chunks', async () => {
  const prompt = 'Tell me everything. [[mock: chunks=8000 delay=0]]';
  const { events } = await served.complete({ model: 'mock/chat-1', prompt, max_tokens: 8_000, stream: true });
  const chunks = chunksOf(events);
  expect(chunks.at(-1)?.usage?.completion_tokens).toBe(8_000);
  expect(chunks.filter(({ choices: [choice] }) => choice?.text)).toHaveLength(8_000);
});

it('accepts a prompt of a mebibyte', async () => {
  const prompt = `${'Many words. '.repeat(87_382)}[[mock: delay=0]]`;
  expect(prompt.length).toBeGreaterThan(1024 * 1024);
  for (const stream of [false, true]) {
    const customer = await served.gateway.customer();
    const model = 'mock/chat-1';
    const reply = await served.complete({ model, prompt, stream }, {}, customer.key);
    expect(reply.status).toBe(200);
    expect(10_000_000 - (await served.balance(customer))).toBeGreaterThan(20_000);
  }
});

it('leaves a valid ledger', async () => {
  expect(await served.gateway.violations()).toEqual([]);
});
