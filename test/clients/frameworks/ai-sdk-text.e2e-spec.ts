import {
  generateObject,
  generateText,
  isStepCount,
  type LanguageModel,
  type ModelMessage,
  Output,
  streamObject,
  streamText,
  tool,
} from 'ai';
import { z } from 'zod';
import type { TestCustomer, TestGateway } from '../../harness/gateway';
import { CHAT_MODELS, RelayedGateway } from '../relayed-gateway';
import { CONVERSING, silenceWarnings } from './ai-sdk';
import { expectChargedOnce } from './charges';

let gateways: RelayedGateway;
let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  silenceWarnings();
  gateways = await RelayedGateway.start();
  gateway = gateways.front;
});
beforeEach(async () => {
  customer = await gateway.customer();
});
afterAll(() => gateways.stop());

const MULTI_BYTE = 'Grüße, 世界, Привет नमस्ते 🚀 👩‍👩‍👧‍👦 — naïve';
const Meeting = z.object({
  title: z.string(),
  kind: z.enum(['call', 'visit']),
  attendees: z.array(z.object({ name: z.string(), age: z.number().nullable() })),
});

describe.each(CHAT_MODELS)('%s', (id) => {
  describe.each(CONVERSING)('%s', (_title, connect) => {
    let model: LanguageModel;
    beforeEach(() => {
      model = connect(gateway, customer, id);
    });
    const prompt = `What does "${MULTI_BYTE}" mean?`;

    it('generates a text, with its usage and model', async () => {
      const result = await generateText({ model, instructions: 'Be brief.', prompt, temperature: 0.5, topP: 0.9 });
      expect(result.text).toContain(MULTI_BYTE);
      expect(result.finishReason).toBe('stop');
      const { inputTokens, outputTokens, totalTokens } = result.usage;
      expect(Number(inputTokens) * Number(outputTokens)).toBeGreaterThan(0);
      expect(totalTokens).toBe(Number(inputTokens) + Number(outputTokens));
      const { response } = result.finalStep;
      expect(response.modelId).toBe(id);
      expect(response.headers).toMatchObject({ 'x-request-id': expect.stringMatching(/^req_/) });
      await expectChargedOnce(gateway, customer, [result.usage]);
    });

    it('streams the same text in deltas, and ends with the finish and the usage', async () => {
      const whole = await generateText({ model, prompt });
      const result = streamText({ model, prompt });
      const deltas: string[] = [];
      for await (const delta of result.textStream) deltas.push(delta);
      expect(deltas.length).toBeGreaterThan(3);
      expect(deltas.join('')).toBe(whole.text);
      expect(await result.text).toBe(whole.text);
      expect(await result.finishReason).toBe('stop');
      const usage = await result.usage;
      expect(usage.outputTokens).toBe(whole.usage.outputTokens);
      expect(usage.totalTokens).toBe(whole.usage.totalTokens);
      await expectChargedOnce(gateway, customer, [whole.usage, usage]);
    });

    it.each([false, true])('reports a response cut at the token limit, streamed: %s', async (streamed) => {
      const request = { model, prompt: 'Tell me a story', maxOutputTokens: 16 };
      const result = streamed ? streamText(request) : await generateText(request);
      expect(await result.finishReason).toBe('length');
      expect((await result.usage).outputTokens).toBe(16);
    });

    it('accepts an image beside the text', async () => {
      const image = { type: 'file' as const, mediaType: 'image/png', data: new Uint8Array([137, 80, 78, 71]) };
      const content = [{ type: 'text' as const, text: 'What is on it?' }, image];
      const { text } = await generateText({ model, messages: [{ role: 'user', content }] });
      expect(text).toContain('an image');
    });

    it.each([false, true])('calls tools in parallel and over several steps, streamed: %s', async (streamed) => {
      const executed: string[] = [];
      const cityTool = (name: string, answer: string) =>
        tool({
          description: `${name} of a city`,
          inputSchema: z.object({ city: z.string() }),
          execute: ({ city }) => {
            executed.push(`${name} ${city}`);
            return { [name]: answer };
          },
        });
      const request = {
        model,
        instructions: 'Use the tools.',
        prompt: 'What are the weather and the time in Lima?',
        tools: { get_weather: cityTool('get_weather', 'clear'), get_time: cityTool('get_time', 'noon') },
        stopWhen: isStepCount(5),
        prepareStep: ({ stepNumber, messages }: StepStart) =>
          stepNumber === 1
            ? { messages: [...messages, { role: 'user' as const, content: 'And the weather in Paris?' }] }
            : undefined,
      };
      const result = streamed ? streamText(request) : await generateText(request);
      const steps = await result.steps;
      expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'tool-calls', 'stop']);
      expect(executed).toEqual(['get_weather Lima', 'get_time Lima', 'get_weather Paris']);
      expect(await result.text).toContain('get_weather returned {"get_weather":"clear"}');
      await expectChargedOnce(
        gateway,
        customer,
        steps.map(({ usage }) => usage),
      );
    });

    it('follows tool_choice', async () => {
      const inputSchema = z.object({ city: z.string() });
      const tools = { get_weather: tool({ inputSchema }), get_time: tool({ inputSchema }) };
      const ask = async (toolChoice: 'none' | 'required' | { type: 'tool'; toolName: 'get_time' }) => {
        const { toolCalls } = await generateText({ model, prompt: 'The weather in Lima?', tools, toolChoice });
        return toolCalls.map(({ toolName, input }) => ({ toolName, input }));
      };
      expect(await ask('none')).toEqual([]);
      expect(await ask('required')).toEqual([{ toolName: 'get_weather', input: { city: 'Lima' } }]);
      expect(await ask({ type: 'tool', toolName: 'get_time' })).toEqual([
        { toolName: 'get_time', input: { city: 'Lima' } },
      ]);
    });

    it.each([false, true])('returns an output of a zod schema, streamed: %s', async (streamed) => {
      const request = { model, prompt: 'Alice and Bob call on Friday.', output: Output.object({ schema: Meeting }) };
      const result = streamed ? streamText(request) : await generateText(request);
      const output = await result.output;
      expect(output).toEqual(Meeting.parse(output));
      expect(JSON.parse(await result.text)).toEqual(output);
      await expectChargedOnce(gateway, customer, [await result.usage]);
    });

    it('returns an output after tool calls', async () => {
      const result = await generateText({
        model,
        prompt: 'How is the weather in Lima?',
        tools: { get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: () => 'clear' }) },
        stopWhen: isStepCount(3),
        output: Output.object({ schema: z.object({ city: z.string(), sky: z.string() }) }),
      });
      expect(result.steps).toHaveLength(2);
      expect(result.output).toEqual({ city: expect.any(String), sky: expect.any(String) });
    });

    it('returns arrays, choices and JSON without a schema', async () => {
      const prompt = 'Alice and Bob call on Friday.';
      const list = await generateText({ model, prompt, output: Output.array({ element: Meeting }) });
      expect(z.array(Meeting).parse(list.output)).toEqual(list.output);
      const choice = await generateText({ model, prompt, output: Output.choice({ options: ['call', 'visit'] }) });
      expect(choice.output).toBe('call');
      const json = await generateText({ model, prompt: `${prompt} Answer in JSON.`, output: Output.json() });
      expect(json.output).toEqual(expect.any(Object));
    });

    it('supports generateObject and streamObject too', async () => {
      const request = { model, prompt: 'Alice and Bob call on Friday.', schema: Meeting };
      const whole = await generateObject(request);
      const streamed = streamObject(request);
      const partials: unknown[] = [];
      for await (const partial of streamed.partialObjectStream) partials.push(partial);
      expect(await streamed.object).toEqual(whole.object);
      expect(partials.length).toBeGreaterThan(1);
    });
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateways.violations()).toEqual([]);
});

interface StepStart {
  readonly stepNumber: number;
  readonly messages: ModelMessage[];
}
