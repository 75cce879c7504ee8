import { TestGateway, type TestCustomer } from '../../harness/gateway';

const PATH = '/v1/responses';
const HELLO = { model: 'mock/chat-1', input: 'Hello' };

let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateway = await TestGateway.start();
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

describe('400 validation_failed names the field', () => {
  it.each<[string, object, string]>([
    ['no input', { input: undefined }, 'input'],
    ['an empty list', { input: [] }, 'input'],
    ['input that is not a list', { input: { role: 'user' } }, 'input'],
    ['an item that is not an object', { input: ['hi'] }, 'input[0]'],
    ['an unknown role', { input: [{ role: 'wizard', content: 'x' }] }, 'input[0].role'],
    ['an unknown part', { input: [{ role: 'user', content: [{ type: 'input_video' }] }] }, 'input[0].content[0].type'],
    ['a result without a call', { input: [{ type: 'function_call_output', output: '1' }] }, 'input[0].call_id'],
    ['a temperature above two', { temperature: 2.1 }, 'temperature'],
    ['max_output_tokens of zero', { max_output_tokens: 0 }, 'max_output_tokens'],
    ['an unknown format', { text: { format: { type: 'grammar' } } }, 'text.format.type'],
    ['a schema without a name', { text: { format: { type: 'json_schema', schema: {} } } }, 'text.format.name'],
    ['a function without a name', { tools: [{ type: 'function' }] }, 'tools[0].name'],
    ['a malformed model id', { model: 7 }, 'model'],
    ['an unknown key in routing', { routing: { host: 'example.com' } }, 'routing.host'],
    ['a previous_response_id', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['a stored prompt', { prompt: { id: 'pmpt_1', variables: { city: 'Lima' } } }, 'prompt'],
    ['a stored conversation', { conversation: 'conv_1' }, 'conversation'],
    [
      'a reference to a stored item',
      {
        input: [
          { role: 'user', content: 'My name is Ada.' },
          { type: 'item_reference', id: 'msg_1' },
          { role: 'user', content: 'What is it?' },
        ],
      },
      'input[1].type',
    ],
    [
      'a schema that the provider cannot follow',
      { text: { format: { type: 'json_schema', name: 'a', schema: { type: 'integer', minimum: 5, maximum: 1 } } } },
      'text.format.schema',
    ],
    [
      'a tool_choice for an unknown function',
      { tools: [{ type: 'function', name: 'a' }], tool_choice: { type: 'function', name: 'b' } },
      'tool_choice',
    ],
  ])('%s', async (_case, change, param) => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, ...change } });
    expect([reply.status, reply.json.error.code]).toEqual([400, 'validation_failed']);
    expect(reply.json.error.param).toBe(param);
  });
});

it('returns 404 for a model that is not in the catalogue', async () => {
  const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, model: 'mock/none' } });
  expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([404, 'model_not_found', 'model']);
});

it('refuses a model outside allowed_models', async () => {
  const restricted = await gateway.customer({ allowedModels: ['mock/other'] });
  const reply = await gateway.call(PATH, { key: restricted.key, body: HELLO });
  expect([reply.status, reply.json.error.code]).toEqual([403, 'model_not_allowed']);
});

it('refuses a request above the balance without a charge', async () => {
  const poor = await gateway.customer({}, 1n);
  const reply = await gateway.call(PATH, { key: poor.key, body: HELLO });
  expect([reply.status, reply.json.error.code]).toEqual([402, 'insufficient_credits']);
});

it.each(['GET', 'DELETE'])('%s of a response returns an error that responses are not stored', async (method) => {
  const { json } = await gateway.call(PATH, { key: customer.key, body: HELLO });
  const reply = await gateway.call(`${PATH}/${json.id}`, { key: customer.key, method });
  expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([400, 'validation_failed', 'id']);
  expect(reply.json.error.message).toContain('not stored');
});
