import { rebuild, type ResponseEvent } from '../../conformance/response-reader';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { TestGateway, type TestCustomer } from '../../harness/gateway';
import { chunk, createCatalog, event, usageChunk } from '../../harness/upstream-models';

const PATH = '/v1/responses';
const CHUNKS = 8_000;

const catalog = createCatalog();
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  gateway = await TestGateway.start({
    OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
    CATALOG_DIR: catalog.path,
  });
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});

const respond = (body: object) =>
  gateway.call(PATH, { key: customer.key, body: { model: 'local/chat', input: 'hi', ...body } });
const plays = (...chunks: string[]): void => {
  upstream.answer = (response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.end(chunks.join('') + event('[DONE]'));
  };
};
const replies = (message: object, finishReason = 'stop'): void => {
  upstream.answer = (response) => {
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: finishReason }], usage }));
  };
};
async function streamed(...chunks: string[]): Promise<ResponseEvent[]> {
  plays(...chunks);
  const { events } = await respond({ stream: true });
  return events.slice(0, -1).map((data) => JSON.parse(data));
}

it('sends the provider a chat completion with chat fields only', async () => {
  replies({ role: 'assistant', content: 'Hello' });
  await respond({
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
      { type: 'reasoning', summary: [] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
    ],
    tools: [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: { type: 'object' }, strict: false }],
    tool_choice: 'auto',
    max_output_tokens: 9,
    reasoning: { effort: 'low' },
    store: true,
    metadata: { a: 'b' },
    routing: { allow_fallbacks: false },
  });
  const { url, body } = upstream.received.at(-1) ?? { url: '', body: '{}' };
  expect(url).toBe('/v1/chat/completions');
  expect(JSON.parse(body)).toEqual({
    model: 'one',
    reasoning_effort: 'low',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' }, strict: false } }],
    tool_choice: 'auto',
    max_tokens: 9,
  });
});

it('returns a refusal of the model, whole and streamed', async () => {
  replies({ role: 'assistant', content: null, refusal: 'I will not.' });
  const refused = [{ type: 'message', content: [{ type: 'refusal', refusal: 'I will not.' }] }];
  expect((await respond({})).json.output).toMatchObject(refused);
  const events = await streamed(
    chunk({ role: 'assistant', refusal: '' }),
    chunk({ refusal: 'I will ' }),
    chunk({ refusal: 'not.' }),
    chunk({}, 'stop'),
    usageChunk(3, 4),
  );
  expect(rebuild(events)).toMatchObject(refused);
});

it('separates interleaved tool calls of the provider and the text between them', async () => {
  const begin = (index: number, id: string, name: string) =>
    chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
  const more = (index: number, text: string) => chunk({ tool_calls: [{ index, function: { arguments: text } }] });
  const events = await streamed(
    chunk({ role: 'assistant', content: 'Let me see.' }),
    begin(0, 'a', 'f'),
    begin(1, 'b', 'g'),
    more(0, '{"x":'),
    more(1, '{"y":'),
    chunk({ content: 'Nearly.' }),
    more(0, '1}'),
    more(1, '2}'),
    chunk({}, 'tool_calls'),
    usageChunk(3, 4),
  );
  expect(rebuild(events)).toMatchObject([
    { type: 'message', content: [{ text: 'Let me see.' }] },
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' },
    { type: 'function_call', call_id: 'b', name: 'g', arguments: '{"y":2}' },
    { type: 'message', content: [{ text: 'Nearly.' }] },
  ]);
});

it('omits reasoning from the output but counts it in the usage', async () => {
  const events = await streamed(
    chunk({ role: 'assistant', reasoning_content: 'Secret thoughts.' }),
    chunk({ content: 'Yes.' }),
    chunk({}, 'stop'),
    event({
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 5 } },
    }),
  );
  expect(JSON.stringify(events)).not.toContain('Secret');
  expect(events.at(-1).response.usage).toMatchObject({
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 5 },
  });
});

it(`streams ${CHUNKS} chunks without waiting for the last one`, async () => {
  let finish = (): void => undefined;
  upstream.answer = (response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.write(chunk({ role: 'assistant', content: 'first' }));
    finish = () => {
      for (let index = 1; index < CHUNKS; index++) response.write(chunk({ content: ` word${index}` }));
      response.end(chunk({}, 'stop') + usageChunk(3, CHUNKS) + event('[DONE]'));
    };
  };
  const response = await fetch(`${gateway.url}${PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'local/chat', input: 'hi', stream: true }),
  });
  const decoder = new TextDecoder();
  let text = '';
  let finished = false;
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes as Uint8Array, { stream: true });
    if (finished || !text.includes('"delta":"first"')) continue;
    finished = true;
    finish();
  }
  const events = text
    .split('\n\n')
    .slice(0, -2)
    .map((data): ResponseEvent => JSON.parse(data.slice('data: '.length)));
  expect(events.filter(({ type }) => type === 'response.output_text.delta')).toHaveLength(CHUNKS);
  expect(rebuild(events)).toEqual(events.at(-1).response.output);
});
