/**
 * The cases of the Open Responses compliance suite, validated against the types that its schema requires of a response.
 * They do not use this repository's OpenAPI document, so that no change to the document can weaken them.
 */
import Ajv2020 from 'ajv/dist/2020';
import type { ResponseEvent } from '../../conformance/response-reader';
import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';
import { pngHead } from '../../harness/png-head';

const NULLABLE_TEXT = { type: ['string', 'null'] };
const COUNT = { type: 'integer' };
const STATUS = { enum: ['in_progress', 'completed', 'incomplete'] };
const OUTPUT_TEXT = {
  type: 'object',
  required: ['type', 'text', 'annotations', 'logprobs'],
  properties: { type: { const: 'output_text' }, text: { type: 'string' } },
};
const RESPONSE_PROPERTIES = {
  id: { type: 'string' },
  object: { const: 'response' },
  created_at: COUNT,
  completed_at: { type: ['integer', 'null'] },
  status: { type: 'string' },
  incomplete_details: { type: ['object', 'null'] },
  model: { type: 'string' },
  previous_response_id: NULLABLE_TEXT,
  instructions: NULLABLE_TEXT,
  output: {
    type: 'array',
    items: {
      oneOf: [
        {
          required: ['id', 'type', 'status', 'role', 'content'],
          properties: {
            type: { const: 'message' },
            status: STATUS,
            role: { const: 'assistant' },
            content: { type: 'array', items: OUTPUT_TEXT },
          },
        },
        {
          required: ['id', 'type', 'call_id', 'name', 'arguments', 'status'],
          properties: { type: { const: 'function_call' }, status: STATUS, arguments: { type: 'string' } },
        },
      ],
    },
  },
  error: { type: ['object', 'null'] },
  tools: {
    type: 'array',
    items: {
      required: ['type', 'name', 'description', 'parameters', 'strict'],
      properties: {
        type: { const: 'function' },
        description: NULLABLE_TEXT,
        parameters: { type: ['object', 'null'] },
        strict: { type: ['boolean', 'null'] },
      },
    },
  },
  tool_choice: { type: ['string', 'object'] },
  truncation: { enum: ['auto', 'disabled'] },
  parallel_tool_calls: { type: 'boolean' },
  text: { type: 'object', required: ['format'] },
  top_p: { type: 'number' },
  presence_penalty: { type: 'number' },
  frequency_penalty: { type: 'number' },
  top_logprobs: COUNT,
  temperature: { type: 'number' },
  reasoning: { type: ['object', 'null'], required: ['effort', 'summary'] },
  user: NULLABLE_TEXT,
  usage: {
    type: ['object', 'null'],
    required: ['input_tokens', 'output_tokens', 'total_tokens', 'input_tokens_details', 'output_tokens_details'],
    properties: {
      input_tokens: COUNT,
      output_tokens: COUNT,
      total_tokens: COUNT,
      input_tokens_details: { required: ['cached_tokens'] },
      output_tokens_details: { required: ['reasoning_tokens'] },
    },
  },
  max_output_tokens: { type: ['integer', 'null'] },
  max_tool_calls: { type: ['integer', 'null'] },
  store: { type: 'boolean' },
  background: { type: 'boolean' },
  service_tier: { type: 'string' },
  metadata: {},
  safety_identifier: NULLABLE_TEXT,
  prompt_cache_key: NULLABLE_TEXT,
};
const isResponse = new Ajv2020({ strict: false, allErrors: true }).compile({
  type: 'object',
  required: Object.keys(RESPONSE_PROPERTIES),
  properties: RESPONSE_PROPERTIES,
});

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a location',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};
const message = (role: string, content: unknown): object => ({ type: 'message', role, content });
const weather = { input: [message('user', "What's the weather like in San Francisco?")], tools: [WEATHER] };
const image = `data:image/png;base64,${pngHead(32, 32).toString('base64')}`;

let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateway = await TestGateway.start();
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

async function respond(fields: object): Promise<CallReply> {
  const body = { model: 'mock/chat-1', ...fields };
  const reply = await gateway.call('/v1/responses', { key: customer.key, body });
  expect(reply.status).toBe(200);
  return reply;
}

function expectResponse(response: unknown): void {
  expect([isResponse(response), isResponse.errors]).toEqual([true, null]);
}

it.each<[string, object, string]>([
  ['a basic text response', { input: [message('user', 'Say hello in exactly 3 words.')] }, 'message'],
  ['a system prompt', { input: [message('system', 'You are a pirate.'), message('user', 'Say hello.')] }, 'message'],
  ['a tool call', weather, 'function_call'],
  [
    'an image',
    {
      input: [
        message('user', [
          { type: 'input_text', text: 'What do you see in this image?' },
          { type: 'input_image', image_url: image },
        ]),
      ],
    },
    'message',
  ],
  [
    'a conversation of several turns',
    {
      input: [
        message('user', 'My name is Alice.'),
        message('assistant', 'Hello Alice! How can I help you today?'),
        message('user', 'What is my name?'),
      ],
    },
    'message',
  ],
])('%s has the types of the schema', async (_case, fields, type) => {
  const { json } = await respond(fields);
  expectResponse(json);
  expect([json.status, json.output[0].type]).toEqual(['completed', type]);
});

it.each<[string, object, string]>([
  ['text', { input: [message('user', 'Count from 1 to 5.')] }, 'message'],
  ['a tool call', weather, 'function_call'],
])('a stream with %s has the types of the schema in every response', async (_case, fields, type) => {
  const { events } = await respond({ ...fields, stream: true });
  const responses = events
    .slice(0, -1)
    .map((event): ResponseEvent => JSON.parse(event))
    .flatMap(({ response }) => response ?? []);
  expect(responses.map(({ status }) => status)).toEqual(['in_progress', 'in_progress', 'completed']);
  for (const response of responses) expectResponse(response);
  expect(responses.at(-1).output[0].type).toBe(type);
});

it('returns the settings of the request that the model received', async () => {
  const settings = {
    temperature: 0.2,
    top_p: 0.9,
    presence_penalty: 0.5,
    frequency_penalty: -0.5,
    top_logprobs: 2,
    service_tier: 'flex',
    user: 'ada',
  };
  const { json } = await respond({ input: 'Hello', ...settings, reasoning: { effort: 'high', summary: 'auto' } });
  expectResponse(json);
  expect(json).toMatchObject({ ...settings, reasoning: { effort: 'high', summary: null } });
});
