import type OpenAI from 'openai';
import type { TestCustomer, TestGateway } from '../harness/gateway';
import { OLDER_CLIENTS } from './official-client';
import { RelayedGateway } from './relayed-gateway';
import { recordsOf } from './traces';

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

/** What differs between the majors: paths of helpers, parsing, error classes, retries. The newest is tested in full. */
describe.each(OLDER_CLIENTS)('%s', (_title, official) => {
  const { sdk, z } = official;
  const ask = (content: string, model = 'mock/chat-1') => ({ model, messages: [{ role: 'user' as const, content }] });
  const connect = (options = {}): OpenAI => official.connect(gateway, customer.key, options);

  it('completes a chat, whole and streamed, with its usage and cost', async () => {
    const whole = await connect().chat.completions.create(ask('Grüße, 世界 🚀'));
    expect(whole.choices[0]?.message.content).toContain('Grüße, 世界 🚀');
    const stream = official.helpers(connect()).stream(ask('Grüße, 世界 🚀'));
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
    const usage = whole.usage as OpenAI.CompletionUsage & { x_llm_cost_micro: number };
    const charged = (await recordsOf(gateway, customer)).map(({ charged_micro: micro }) => Number(micro));
    expect(charged).toEqual([usage.x_llm_cost_micro, usage.x_llm_cost_micro]);
  });

  it('runs a tool and sends its result', async () => {
    const asked: unknown[] = [];
    const runner = official.helpers(connect()).runTools({
      ...ask('How is the weather in Zürich?'),
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Weather in a city',
            parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
            parse: JSON.parse,
            function: (input: unknown) => {
              asked.push(input);
              return 'sunny';
            },
          },
        },
      ],
    });
    await expect(runner.finalContent()).resolves.toContain('sunny');
    expect(asked).toEqual([{ city: 'Zürich' }]);
  });

  it('parses an output by its zod schema', async () => {
    const Meeting = z.object({ title: z.string(), kind: z.enum(['call', 'visit']) });
    const request = { ...ask('A call'), response_format: official.zodResponseFormat(Meeting, 'meeting') };
    const completion = await official.helpers(connect()).parse(request);
    expect(completion.choices[0]?.message.parsed).toMatchObject({ title: expect.any(String), kind: 'call' });
  });

  it('creates a response, embeddings, an image and speech', async () => {
    const client = connect();
    const response = await client.responses.create({ model: 'mock/chat-1', input: 'Hello' });
    expect(response.output_text).toContain('Hello');
    const { data } = await client.embeddings.create({ model: 'mock/embed-1', input: ['one', 'two'] });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([1536, 1536]);
    const images = await client.images.generate({
      model: 'mock/image-1',
      prompt: 'A cat',
      response_format: 'b64_json',
    });
    expect(images.data?.[0]?.b64_json).toMatch(/^[A-Za-z0-9+/]+=*$/);
    const speech = await client.audio.speech.create({ model: 'mock/speech-1', input: 'Hello', voice: 'alloy' });
    expect((await speech.arrayBuffer()).byteLength).toBeGreaterThan(100);
  });

  it('raises the error class of a status with its code, and of its own timeout', async () => {
    const refused = connect({ apiKey: 'sk-llm-unknown', maxRetries: 0 }).chat.completions.create(ask('Hello'));
    await expect(refused).rejects.toBeInstanceOf(sdk.AuthenticationError);
    await expect(refused).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' });
    const late = connect({ timeout: 500, maxRetries: 0 }).chat.completions.create(ask('Hi [[mock: hang]]'));
    await expect(late).rejects.toBeInstanceOf(sdk.APIConnectionTimeoutError);
  });
});
