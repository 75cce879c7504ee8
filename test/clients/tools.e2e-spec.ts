import type OpenAI from 'openai';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';
import { CHAT_MODELS, RelayedGateway } from './relayed-gateway';

let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
  customer = await gateway.customer();
});
afterAll(() => gateways.stop());

const cityParameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tools: OpenAI.ChatCompletionFunctionTool[] = [
  { type: 'function', function: { name: 'get_weather', description: 'Weather in a city', parameters: cityParameters } },
  { type: 'function', function: { name: 'get_time', description: 'Time in a city', parameters: cityParameters } },
];

describe.each(CHAT_MODELS)('%s', (model) => {
  describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
    const ask = (question: string): { model: string; messages: OpenAI.ChatCompletionMessageParam[] } => ({
      model,
      messages: [{ role: 'user', content: question }],
    });
    const weather = { ...ask('How is the weather in Zürich?'), tools };
    const both = { ...ask('What are the weather and the time in Paris?'), tools };
    let client: OpenAI;
    beforeAll(() => {
      client = official.connect(gateway, customer.key);
    });

    it('returns a call with its arguments as JSON text and no content', async () => {
      const completion = await client.chat.completions.create(weather);
      expect(completion.choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: expect.stringMatching(/./), type: 'function', function: { name: 'get_weather' } }],
        },
      });
      expect(callsOf(completion)).toEqual([['get_weather', { city: 'Zürich' }]]);
    });

    it('streams two parallel calls as deltas: identity first and once, then arguments', async () => {
      const deltas: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall[] = [];
      let finishReason: string | null = null;
      for await (const chunk of await client.chat.completions.create({ ...both, stream: true })) {
        deltas.push(...(chunk.choices[0]?.delta.tool_calls ?? []));
        finishReason = chunk.choices[0]?.finish_reason ?? finishReason;
      }
      expect(finishReason).toBe('tool_calls');
      for (const [index, name] of ['get_weather', 'get_time'].entries()) {
        const [first, ...others] = deltas.filter((delta) => delta.index === index);
        expect(first).toMatchObject({ id: expect.stringMatching(/./), type: 'function', function: { name } });
        expect(others.length).toBeGreaterThan(0);
        expect(others.every((delta) => delta.id === undefined && delta.function?.name === undefined)).toBe(true);
        const text = [first, ...others].map((delta) => delta?.function?.arguments ?? '').join('');
        expect(JSON.parse(text)).toEqual({ city: 'Paris' });
      }
    });

    it('lets the stream helper assemble the calls', async () => {
      const final = await official.helpers(client).stream(both).finalChatCompletion();
      expect(callsOf(final)).toEqual([
        ['get_weather', { city: 'Paris' }],
        ['get_time', { city: 'Paris' }],
      ]);
      expect(final.choices[0]?.finish_reason).toBe('tool_calls');
    });

    it.each<[string, object, string[]]>([
      ['none', { tool_choice: 'none' }, []],
      ['required', { tool_choice: 'required', parallel_tool_calls: false }, ['get_weather']],
      ['a named function', { tool_choice: { type: 'function', function: { name: 'get_time' } } }, ['get_time']],
    ])('follows tool_choice: %s', async (_choice, options, names) => {
      const completion = await client.chat.completions.create({ ...both, ...options });
      expect(callsOf(completion).map(([name]) => name)).toEqual(names);
    });

    it('accepts tool results and responds to them', async () => {
      const asked = await client.chat.completions.create(both);
      const message = asked.choices[0]?.message as OpenAI.ChatCompletionMessage;
      const results = (message.tool_calls ?? []).map((call, index) => ({
        role: 'tool' as const,
        tool_call_id: call.id,
        content: index === 0 ? '18 °C and sunny' : '12:30',
      }));
      const answered = await client.chat.completions.create({
        ...both,
        messages: [...both.messages, message, ...results],
      });
      expect(answered.choices[0]?.finish_reason).toBe('stop');
      expect(answered.choices[0]?.message.content).toContain('18 °C and sunny');
      expect(answered.choices[0]?.message.content).toContain('12:30');
    });

    it.each([false, true])("runs the client's tool loop, streamed: %s", async (stream) => {
      const seen: unknown[] = [];
      const runnable = {
        type: 'function' as const,
        function: {
          name: 'get_weather',
          description: 'Weather in a city',
          parameters: cityParameters,
          parse: JSON.parse,
          function: (input: object) => {
            seen.push(input);
            return '7 °C and rain';
          },
        },
      };
      const helpers = official.helpers(client);
      const request = { ...ask('How is the weather in Oslo?'), tools: [runnable] };
      const runner = stream
        ? helpers.runTools({ ...request, stream: true })
        : helpers.runTools({ ...request, stream: false });
      expect(await runner.finalContent()).toContain('7 °C and rain');
      expect(seen).toEqual([{ city: 'Oslo' }]);
      expect(runner.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    });
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateways.violations()).toEqual([]);
});

function callsOf(completion: OpenAI.ChatCompletion): [string, unknown][] {
  return (completion.choices[0]?.message.tool_calls ?? []).map((call) =>
    call.type === 'function' ? [call.function.name, JSON.parse(call.function.arguments)] : [call.type, null],
  );
}
