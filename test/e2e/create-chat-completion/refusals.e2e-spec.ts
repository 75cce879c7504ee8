import { TestGateway, type TestCustomer } from '../../harness/gateway';

const PATH = '/v1/chat/completions';
const HELLO = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };

let gateway: TestGateway;
let customer: TestCustomer;

beforeAll(async () => {
  gateway = await TestGateway.start();
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

describe('400 validation_failed names the field', () => {
  it.each<[string, object, string]>([
    ['n above one', { n: 2 }, 'n'],
    ['n as text', { n: '1' }, 'n'],
    ['a temperature above two', { temperature: 2.1 }, 'temperature'],
    ['no messages', { messages: [] }, 'messages'],
    ['messages that are no list', { messages: 'hi' }, 'messages'],
    ['an unknown role', { messages: [{ role: 'wizard', content: 'x' }] }, 'messages[0].role'],
    ['a message without content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    [
      'an image part without an address',
      {
        messages: [
          { role: 'system', content: 'x' },
          { role: 'user', content: [{ type: 'image_url', image_url: {} }] },
        ],
      },
      'messages[1].content[0].image_url.url',
    ],
    ['a model that is no id', { model: 7 }, 'model'],
    ['an unknown key in routing', { routing: { host: 'example.com' } }, 'routing.host'],
    ['max_tokens of zero', { max_tokens: 0 }, 'max_tokens'],
    ['five stop sequences', { stop: ['1', '2', '3', '4', '5'] }, 'stop'],
    ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
  ])('%s', async (_case, change, param) => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, ...change } });
    expect(reply.status).toBe(400);
    expect(reply.json.error).toMatchObject({ code: 'validation_failed', param });
  });
});

describe('401 before the body is read', () => {
  it.each<[string, Record<string, string>]>([
    ['no key', {}],
    ['another scheme', { authorization: 'Basic abc' }],
    ['a key of another service', { authorization: 'Bearer sk-abcdefghijklmnopqrstuvwxyz' }],
    ['an injection', { authorization: "Bearer sk-llm-' OR 1=1 --" }],
  ])('%s', async (_case, headers) => {
    const reply = await gateway.call(PATH, { headers, body: '{"broken' });
    expect(reply.status).toBe(401);
    expect(reply.json.error.code).toBe('invalid_api_key');
    expect(reply.headers.get('x-should-retry')).toBe('false');
  });
});

describe('403 and 404', () => {
  it('refuses a model outside allowed_models', async () => {
    const restricted = await gateway.customer({ allowedModels: ['mock/other'] });
    const reply = await gateway.call(PATH, { key: restricted.key, body: HELLO });
    expect([reply.status, reply.json.error.code]).toEqual([403, 'model_not_allowed']);
  });

  it('refuses a modality outside allowed_modalities', async () => {
    const restricted = await gateway.customer({ allowedModalities: ['image'] });
    const reply = await gateway.call(PATH, { key: restricted.key, body: HELLO });
    expect([reply.status, reply.json.error.code]).toEqual([403, 'modality_not_allowed']);
  });

  it('refuses an address outside allowed_ips', async () => {
    const restricted = await gateway.customer({ allowedIps: ['203.0.113.0/24'] });
    const reply = await gateway.call(PATH, { key: restricted.key, body: HELLO });
    expect([reply.status, reply.json.error.code]).toEqual([403, 'ip_not_allowed']);
  });

  it('does not know a model that is not in the catalogue', async () => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, model: 'mock/none' } });
    expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([404, 'model_not_found', 'model']);
  });
});

describe('routing', () => {
  it('never goes to a provider that the request rules out', async () => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, routing: { ignore: ['mock'] } } });
    expect([reply.status, reply.json.error.code]).toEqual([503, 'no_provider_available']);
  });

  it('does not pretend to have the smart strategy', async () => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, routing: { strategy: 'smart' } } });
    expect([reply.status, reply.json.error.code]).toEqual([501, 'not_implemented']);
  });
});

describe('402', () => {
  it('refuses what the balance cannot cover and charges nothing', async () => {
    const poor = await gateway.customer({}, 1n);
    const reply = await gateway.call(PATH, { key: poor.key, body: HELLO });
    expect([reply.status, reply.json.error.code]).toEqual([402, 'insufficient_credits']);
    expect(reply.headers.get('x-should-retry')).toBe('false');
  });

  it('refuses what a budget of the key cannot cover', async () => {
    const limited = await gateway.customer({ dailyBudgetMicro: 1n });
    const reply = await gateway.call(PATH, { key: limited.key, body: HELLO });
    expect([reply.status, reply.json.error.code]).toEqual([402, 'budget_exceeded']);
  });
});

describe('failures of the provider', () => {
  it.each([
    ['status=429 retry_after=7', 429, 'provider_rate_limited', '7'],
    ['status=500', 503, 'provider_unavailable', null],
    ['status=401', 502, 'provider_error', null],
    ['status=404', 502, 'provider_error', null],
    ['status=504', 504, 'provider_timeout', null],
    ['garbage', 502, 'provider_error', null],
  ])('%s', async (script, status, code, retryAfter) => {
    const unlucky = await gateway.customer();
    const messages = [{ role: 'user', content: `[[mock: ${script}]]` }];
    const reply = await gateway.call(PATH, { key: unlucky.key, body: { ...HELLO, messages } });
    expect([reply.status, reply.json.error.code]).toEqual([status, code]);
    expect(reply.headers.get('retry-after')).toBe(retryAfter);
    const rows = await gateway.rows<{ charged_micro: string; error_code: string }>(
      'SELECT charged_micro, error_code FROM usage_record WHERE organization_id = $1',
      [unlucky.organizationId],
    );
    expect(rows).toEqual([{ charged_micro: '0', error_code: code }]);
  });
});

it('keeps every invariant of the books', async () => {
  expect(await gateway.violations()).toEqual([]);
});
