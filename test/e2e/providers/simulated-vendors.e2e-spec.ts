/**
 * Providers against aimock, a simulator of vendors' APIs by other authors (https://aimock.copilotkit.dev): it reveals a
 * misreading of a wire format that our own fake upstreams share. It refuses requests without the key.
 */
import { LLMock } from '@copilotkit/aimock';
import { TestGateway } from '../../harness/gateway';

const KEY = 'simulated-vendor-key';
const TEXT = 'Grüezi, und guten Tag miteinander!';
const THOUGHT = 'A greeting deserves another.';
/** In the words of each vendor; a simulated one reports no tokens by default. */
const USAGE = {
  usage: {
    prompt_tokens: 1_000,
    completion_tokens: 500,
    input_tokens: 1_000,
    output_tokens: 500,
    promptTokenCount: 1_000,
    candidatesTokenCount: 500,
  },
};
interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; arguments: string };
}

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

let simulator: LLMock;
let gateway: TestGateway;
let key: string;

beforeAll(async () => {
  simulator = new LLMock({ port: 0, strict: true, auth: { apiKeys: [KEY] } });
  simulator
    .onMessage('greet', { content: TEXT, ...USAGE })
    .onMessage('think', { content: TEXT, reasoning: THOUGHT, ...USAGE })
    .on(
      { userMessage: 'weather', hasToolResult: false },
      {
        toolCalls: [
          { name: 'get_weather', arguments: { city: 'Zürich' } },
          { name: 'get_weather', arguments: { city: 'Bern' } },
        ],
      },
    )
    .on({ userMessage: 'weather', hasToolResult: true, toolResultContains: '17' }, { content: TEXT })
    .onMessage('refuse', { error: { message: 'Slow down.', type: 'rate_limit_error' }, status: 429 });
  const url = await simulator.start();
  gateway = await TestGateway.start({
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: url,
    GEMINI_API_KEY: KEY,
    GEMINI_BASE_URL: `${url}/v1beta`,
    OPENAI_API_KEY: KEY,
    OPENAI_BASE_URL: `${url}/v1`,
  });
  ({ key } = await gateway.customer());
});
afterAll(async () => {
  await gateway.stop();
  await simulator.stop();
});

/** With tools, the last one is served through the Responses API. */
describe.each(['anthropic/claude-haiku-5-5', 'google/gemini-3.8-flash', 'openai/gpt-5.2', 'openai/gpt-6.1-terra'])(
  '%s at a simulated vendor',
  (model) => {
    const ask = (content: string, body: object = {}) =>
      gateway.call('/v1/chat/completions', {
        key,
        body: { model, messages: [{ role: 'user', content }], ...body },
      });
    const chunksOf = (events: readonly string[]) => events.slice(0, -1).map((event) => JSON.parse(event));

    it('answers, and charges the usage that the vendor reports', async () => {
      const { status, json } = await ask('greet');
      expect([status, json.choices[0].message.content, json.choices[0].finish_reason]).toEqual([200, TEXT, 'stop']);
      expect(json.usage).toMatchObject({ prompt_tokens: 1_000, completion_tokens: 500 });
      const { input, output } = (await gateway.call(`/v1/models/${model}`, { key })).json.pricing.tokens.per_1m_micro;
      expect(json.usage.x_llm_cost_micro).toBe(Math.ceil((1_000 * input + 500 * output) / 1e6));
    });

    it('streams the same text with a finish reason and usage', async () => {
      const { events } = await ask('greet', { stream: true, stream_options: { include_usage: true } });
      const chunks = chunksOf(events);
      const choices = chunks.flatMap((chunk) => chunk.choices);
      expect(choices.map(({ delta }) => delta.content ?? '').join('')).toBe(TEXT);
      expect(choices.flatMap(({ finish_reason: reason }) => reason ?? [])).toEqual(['stop']);
      expect(chunks.at(-1).usage).toMatchObject({ prompt_tokens: 1_000, completion_tokens: 500 });
    });

    it.each([false, true])('calls two tools at once and continues with their results: stream=%s', async (stream) => {
      const reply = await ask('weather', { tools: [WEATHER], stream });
      const calls: ToolCall[] = stream ? joinCalls(chunksOf(reply.events)) : reply.json.choices[0].message.tool_calls;
      expect(calls.map((each) => [each.function.name, JSON.parse(each.function.arguments)])).toEqual([
        ['get_weather', { city: 'Zürich' }],
        ['get_weather', { city: 'Bern' }],
      ]);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      const messages = [
        { role: 'user', content: 'weather' },
        { role: 'assistant', content: null, tool_calls: calls },
        ...calls.map(({ id }, at) => ({ role: 'tool', tool_call_id: id, content: `${16 + at} degrees` })),
      ];
      const { status, json } = await ask('', { messages, tools: [WEATHER] });
      expect([status, json.choices[0].message.content]).toEqual([200, TEXT]);
    });

    it("maps the vendor's refusal to an error of the gateway", async () => {
      const { status, json } = await ask('refuse', { routing: { max_attempts: 1 } });
      expect([status, json.error.code]).toEqual([429, 'provider_rate_limited']);
    });
  },
);

describe.each(['anthropic/claude-haiku-5-5', 'google/gemini-3.8-flash'])('thoughts of %s', (model) => {
  const body = { model, messages: [{ role: 'user', content: 'think' }], reasoning_effort: 'low' };

  it('are kept apart from the answer', async () => {
    const { json } = await gateway.call('/v1/chat/completions', { key, body });
    expect(json.choices[0].message).toMatchObject({ reasoning_content: THOUGHT, content: TEXT });
  });

  it('are kept apart from the answer in a stream', async () => {
    const { events } = await gateway.call('/v1/chat/completions', { key, body: { ...body, stream: true } });
    const deltas = events.slice(0, -1).flatMap((event) => JSON.parse(event).choices[0]?.delta ?? []);
    expect(deltas.map((delta) => delta.reasoning_content ?? '').join('')).toBe(THOUGHT);
    expect(deltas.map((delta) => delta.content ?? '').join('')).toBe(TEXT);
  });
});

/** The calls of a stream, put together as clients do. */
function joinCalls(chunks: readonly { choices: { delta: { tool_calls?: (ToolCall & { index: number })[] } }[] }[]) {
  const calls: ToolCall[] = [];
  for (const { index, id, type, function: piece } of chunks.flatMap(
    (each) => each.choices[0]?.delta.tool_calls ?? [],
  )) {
    const call = (calls[index] ??= { id, type, function: { name: piece.name, arguments: '' } });
    call.function.arguments += piece.arguments;
  }
  return calls;
}
