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

describe.each(CHAT_MODELS)('%s', (model) => {
  describe.each(NEWEST_CLIENT)('%s', (_title, official) => {
    const { z } = official;
    const Meeting = z.object({
      title: z.string(),
      kind: z.enum(['call', 'visit']),
      attendees: z.array(z.object({ name: z.string(), age: z.number().nullable() })),
      confirmed: z.boolean(),
    });
    const request = {
      model,
      messages: [{ role: 'user' as const, content: 'Alice and Bob are going to a call on Friday.' }],
      response_format: official.zodResponseFormat(Meeting, 'meeting'),
    };
    let client: OpenAI;
    beforeAll(() => {
      client = official.connect(gateway, customer.key);
    });

    it('parses an output by its zod schema', async () => {
      const completion = await official.helpers(client).parse(request);
      const [choice] = completion.choices;
      expect(choice?.finish_reason).toBe('stop');
      expect(choice?.message.parsed).toEqual(Meeting.parse(JSON.parse(choice?.message.content ?? '')));
      expect(choice?.message.parsed).toMatchObject({ title: expect.any(String), kind: 'call' });
    });

    it('parses a streamed output', async () => {
      const whole = await official.helpers(client).parse(request);
      const final = await official.helpers(client).stream(request).finalChatCompletion();
      expect(final.choices[0]?.message.parsed).toEqual(whole.choices[0]?.message.parsed);
    });

    it('refuses to parse an output that was cut at the token limit', async () => {
      const parsing = official.helpers(client).parse({ ...request, max_tokens: 2 });
      await expect(parsing).rejects.toThrow(/length limit/);
    });

    it('returns JSON for a plain JSON schema, and for json_object', async () => {
      const schema = {
        type: 'object',
        properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' }, minItems: 2 } },
        required: ['name', 'tags'],
        additionalProperties: false,
      };
      const bySchema = await client.chat.completions.create({
        ...request,
        response_format: { type: 'json_schema', json_schema: { name: 'thing', strict: true, schema } },
      });
      const value = JSON.parse(bySchema.choices[0]?.message.content ?? '');
      expect(value).toEqual({ name: expect.any(String), tags: expect.any(Array) });
      expect(value.tags.length).toBeGreaterThanOrEqual(2);

      const asObject = await client.chat.completions.create({ ...request, response_format: { type: 'json_object' } });
      expect(typeof JSON.parse(asObject.choices[0]?.message.content ?? '')).toBe('object');
    });

    it('parses the arguments of a strict function', async () => {
      const completion = await official.helpers(client).parse({
        model,
        messages: [{ role: 'user', content: 'How is the weather in Lima?' }],
        tools: [
          {
            type: 'function',
            function: {
              name: 'get_weather',
              strict: true,
              parameters: {
                type: 'object',
                properties: { city: { type: 'string' } },
                required: ['city'],
                additionalProperties: false,
              },
            },
          },
        ],
      });
      const [call] = completion.choices[0]?.message.tool_calls ?? [];
      expect(call).toMatchObject({ type: 'function', function: { parsed_arguments: { city: 'Lima' } } });
    });
  });
});

it('keeps every ledger invariant', async () => {
  expect(await gateways.violations()).toEqual([]);
});
