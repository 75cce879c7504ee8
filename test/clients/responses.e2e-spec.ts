import type OpenAI from 'openai';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { NEWEST_CLIENT } from './official-client';
import { PIXEL } from '../harness/public-host';
import { CHAT_MODELS, RelayedGateway } from './relayed-gateway';
import { heldMicro, recordsOf, soleRecordOf } from './traces';

type Responses = OpenAI.Responses.Response;
type Input = OpenAI.Responses.ResponseInput;

let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(() => gateways.stop());

const MULTI_BYTE = 'Grüße, 世界, Привет नमस्ते 🚀 👩‍👩‍👧‍👦 — naïve';

const cityParameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tool = (name: string): OpenAI.Responses.FunctionTool => {
  return { type: 'function', name, description: `${name} of a city`, parameters: cityParameters, strict: true };
};
const tools = [tool('get_weather'), tool('get_time')];
/** Results of the functions. */
const RESULTS: Record<string, string> = { get_weather: '{"sky":"clear"}', get_time: '"noon"' };

/** The text, which versions 4 and 5 do not assemble at the end of a stream. */
const textOf = ({ output }: Pick<Responses, 'output'>): string =>
  output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');
const callsOf = ({ output }: Responses): OpenAI.Responses.ResponseFunctionToolCall[] =>
  output.flatMap((item) => (item.type === 'function_call' ? item : []));

describe.each(CHAT_MODELS)('%s', (model) => {
  describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
    const { sdk, z } = official;
    const connect = (): OpenAI => official.connect(gateway, customer.key);
    const question = { model, input: `What does "${MULTI_BYTE}" mean?` };
    const weather = 'What are the weather and the time in Lima?';

    it('creates a response with its text, cost and request id', async () => {
      const { data, response, request_id: id } = await connect().responses.create(question).withResponse();
      expect(data).toMatchObject({ object: 'response', status: 'completed', model });
      expect(data.output_text).toContain(MULTI_BYTE);
      const usage = data.usage as OpenAI.Responses.ResponseUsage & { x_llm_cost_micro: number };
      expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
      expect(response.headers.get('x-llm-cost-micro')).toBe(String(usage.x_llm_cost_micro));
      expect(id).toMatch(/^req_[0-9a-f]{32}$/);
      const charged = (await recordsOf(gateway, customer)).map(({ charged_micro: micro }) => Number(micro));
      expect(charged).toEqual([usage.x_llm_cost_micro]);
    });

    it('streams the same text, in numbered events', async () => {
      const client = connect();
      const whole = await client.responses.create(question);
      const events: OpenAI.Responses.ResponseStreamEvent[] = [];
      for await (const event of await client.responses.create({ ...question, stream: true })) events.push(event);
      const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? event.delta : []));
      expect(deltas.length).toBeGreaterThan(3);
      expect(deltas.join('')).toBe(whole.output_text);
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_event, index) => index));
      expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { usage: whole.usage } });
    });

    it('runs the stream helper to its end', async () => {
      const client = connect();
      const whole = await client.responses.create(question);
      const runner = client.responses.stream(question);
      const snapshots: string[] = [];
      runner.on('response.output_text.delta', ({ snapshot }) => void snapshots.push(snapshot));
      const final = await runner.finalResponse();
      expect(textOf(final)).toBe(whole.output_text);
      expect(snapshots.at(-1)).toBe(whole.output_text);
    });

    it.each([false, true])('loops over parallel calls until the final text, streamed: %s', async (streamed) => {
      const client = connect();
      const input: Input = [{ role: 'user', content: weather }];
      const ask = (): Promise<Responses> => {
        const request = { model, input, tools, instructions: 'Use the tools.' };
        return streamed ? client.responses.stream(request).finalResponse() : client.responses.create(request);
      };
      const seen: string[][] = [];
      let response = await ask();
      for (let calls = callsOf(response); calls.length > 0; calls = callsOf(response)) {
        seen.push(calls.map(({ name, arguments: text }) => `${name} ${text}`));
        input.push(...(response.output as Input));
        for (const { call_id, name } of calls) {
          input.push({ type: 'function_call_output', call_id, output: RESULTS[name] ?? '' });
        }
        response = await ask();
      }
      expect(seen).toEqual([['get_weather {"city":"Lima"}', 'get_time {"city":"Lima"}']]);
      expect(textOf(response)).toContain('get_weather returned {"sky":"clear"}, and get_time returned "noon"');
    });

    it('continues a conversation that the client keeps, over several steps', async () => {
      const client = connect();
      const input: Input = [];
      for (const [step, content] of [weather, 'And in Paris?', 'Thank you.'].entries()) {
        input.push({ role: 'user', content });
        const response = await client.responses.create({ model, input, tools: step < 2 ? tools : undefined });
        input.push(...(response.output as Input));
        for (const { call_id, name } of callsOf(response)) {
          input.push({ type: 'function_call_output', call_id, output: RESULTS[name] ?? '' });
        }
      }
      expect(input.at(-1)).toMatchObject({ type: 'message', role: 'assistant', status: 'completed' });
      expect(input.filter((item) => item.type === 'function_call').length).toBeGreaterThan(1);
    });

    it.each([false, true])('parses an output by its zod schema, streamed: %s', async (streamed) => {
      const Person = z.object({ name: z.string(), age: z.number().nullable() });
      const request = {
        model,
        input: 'Alice is 30.',
        text: { format: official.zodTextFormat(Person, 'person') },
      };
      const { responses } = connect();
      const response = streamed ? await responses.stream(request).finalResponse() : await responses.parse(request);
      expect(response.output_parsed).toEqual(Person.parse(JSON.parse(textOf(response))));
    });

    it('parses the arguments of a strict function', async () => {
      const response = await connect().responses.parse({ model, input: 'How is the weather in Lima?', tools });
      const [{ parsed_arguments: parsed }] = response.output as unknown as [
        { parsed_arguments: Record<string, unknown> },
      ];
      // Versions 4 and 5 wrap the arguments in their item again.
      expect(parsed['parsed_arguments'] ?? parsed).toEqual({ city: 'Lima' });
    });

    it('reports an incomplete response', async () => {
      const request = { model, input: 'Tell me a story', max_output_tokens: 16 };
      const expected = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
      expect(await connect().responses.create(request)).toMatchObject(expected);
      const events: OpenAI.Responses.ResponseStreamEvent[] = [];
      for await (const event of await connect().responses.create({ ...request, stream: true })) events.push(event);
      expect(events.at(-1)).toMatchObject({ type: 'response.incomplete', response: expected });
    });

    it('accepts the parts, parameters and settings that agents send', async () => {
      const response = await connect().responses.create({
        model,
        input: [
          { role: 'developer', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'What is on this picture?' },
              { type: 'input_image', image_url: `data:image/png;base64,${PIXEL.toString('base64')}`, detail: 'low' },
            ],
          },
        ],
        temperature: 1.5,
        top_p: 0.9,
        reasoning: { effort: 'low', summary: 'auto' },
        include: ['reasoning.encrypted_content'],
        store: false,
        tools: [...tools, { type: 'web_search' }],
        tool_choice: 'none',
        parallel_tool_calls: true,
        prompt_cache_key: 'a',
        metadata: { purpose: 'test' },
        truncation: 'auto',
      });
      const kept = { temperature: 1.5, metadata: { purpose: 'test' }, prompt_cache_key: 'a' };
      expect(response).toMatchObject({ status: 'completed', ...kept });
      expect(response.output_text).toContain('an image');
    });

    it('raises an error inside the stream, after response.failed', async () => {
      const input = 'Tell me a story [[mock: reset_after=3]]';
      const types: string[] = [];
      const failure: unknown = await (async () => {
        for await (const { type } of await connect().responses.create({ model, input, stream: true })) types.push(type);
      })().catch((error) => error);
      expect(failure).toBeInstanceOf(sdk.APIError);
      expect(failure).toMatchObject({ code: 'stream_interrupted', type: 'provider_error' });
      expect(types.at(-1)).toBe('response.failed');
      await expect(connect().responses.stream({ model, input }).finalResponse()).rejects.toThrow();
      expect(await heldMicro(gateway, customer)).toBe(0);
    });

    it('settles when the client breaks out of a stream loop', async () => {
      const input = 'Count [[mock: tokens=2000 delay=5ms]]';
      for await (const { type } of await connect().responses.create({ model, input, stream: true })) {
        if (type === 'response.output_text.delta') break;
      }
      const record = await soleRecordOf(gateway, customer);
      expect(record).toMatchObject({ status: 499, streamed: true, usage_estimated: true });
      expect(Number(record.charged_micro)).toBeGreaterThan(0);
      expect(await heldMicro(gateway, customer)).toBe(0);
    });

    it('raises BadRequestError with the field for unsupported features', async () => {
      const { responses } = connect();
      const refused = { code: 'validation_failed', status: 400 };
      const earlier = responses.create({ ...question, previous_response_id: 'resp_1' });
      await expect(earlier).rejects.toMatchObject({ ...refused, param: 'previous_response_id' });
      await expect(responses.retrieve('resp_1')).rejects.toMatchObject({ ...refused, param: 'id' });
      const removing = responses as typeof responses & { del?: typeof responses.delete };
      // Version 4 calls it `del`.
      const removal = removing.del === undefined ? removing.delete('resp_1') : removing.del('resp_1');
      await expect(removal).rejects.toThrow(sdk.BadRequestError);
    });
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateways.violations()).toEqual([]);
});
