import { type CallReply, TestGateway, type TestCustomer } from '../../harness/gateway';

const PATH = '/v1/chat/completions';
const HELLO = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'Hello' }] };

const say = (part: object) => ({ messages: [{ role: 'user', content: [part] }] });

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
    ['messages that are not a list', { messages: 'hi' }, 'messages'],
    ['an unknown role', { messages: [{ role: 'wizard', content: 'x' }] }, 'messages[0].role'],
    ['a message without content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    [
      'an image part without a URL',
      {
        messages: [
          { role: 'system', content: 'x' },
          { role: 'user', content: [{ type: 'image_url', image_url: {} }] },
        ],
      },
      'messages[1].content[0].image_url.url',
    ],
    [
      'a file URL, which would reach the provider',
      say({ type: 'file', file: { file_data: 'https://169.254.169.254/latest/meta-data' } }),
      'messages[0].content[0].file.file_data',
    ],
    [
      'an audio URL, which would reach the provider',
      say({ type: 'input_audio', input_audio: { data: 'http://10.0.0.1/a.wav', format: 'wav' } }),
      'messages[0].content[0].input_audio.data',
    ],
    ['a malformed model id', { model: 7 }, 'model'],
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

  it('refuses an IP address outside allowed_ips', async () => {
    const restricted = await gateway.customer({ allowedIps: ['203.0.113.0/24'] });
    const reply = await gateway.call(PATH, { key: restricted.key, body: HELLO });
    expect([reply.status, reply.json.error.code]).toEqual([403, 'ip_not_allowed']);
  });

  it('returns 404 for a model that is not in the catalogue', async () => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, model: 'mock/none' } });
    expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([404, 'model_not_found', 'model']);
  });
});

describe('routing', () => {
  it('never uses a provider that the request excludes', async () => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, routing: { ignore: ['mock'] } } });
    expect([reply.status, reply.json.error.code]).toEqual([503, 'no_provider_available']);
  });

  it('refuses the smart strategy, which does not exist', async () => {
    const reply = await gateway.call(PATH, { key: customer.key, body: { ...HELLO, routing: { strategy: 'smart' } } });
    expect([reply.status, reply.json.error.code]).toEqual([501, 'not_implemented']);
  });
});

describe('402', () => {
  it('refuses a request above the balance without a charge', async () => {
    const poor = await gateway.customer({}, 1n);
    const reply = await gateway.call(PATH, { key: poor.key, body: HELLO });
    expect([reply.status, reply.json.error.code]).toEqual([402, 'insufficient_credits']);
    expect(reply.headers.get('x-should-retry')).toBe('false');
  });

  it('refuses a request above a budget of the key', async () => {
    const limited = await gateway.customer({ dailyBudgetMicro: 1n });
    const reply = await gateway.call(PATH, { key: limited.key, body: HELLO });
    expect([reply.status, reply.json.error.code]).toEqual([402, 'budget_exceeded']);
  });
});

describe('provider failures', () => {
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

it('keeps every ledger invariant', async () => {
  expect(await gateway.violations()).toEqual([]);
});

describe('every error reports the cost, and the model once it is known', () => {
  const asking = (script: string): object => ({
    ...HELLO,
    messages: [{ role: 'user', content: `[[mock: ${script}]]` }],
  });

  it.each<[string, number, string | null, () => Promise<CallReply>]>([
    ['a missing key', 401, null, () => gateway.call(PATH, { body: HELLO })],
    ['broken JSON', 400, null, () => gateway.call(PATH, { key: customer.key, body: '{' })],
    ['an unknown model', 404, null, () => gateway.call(PATH, { key: customer.key, body: { ...HELLO, model: 'a/b' } })],
    [
      'a forbidden model',
      403,
      'mock/chat-1',
      async () => {
        const { key } = await gateway.customer({ allowedModels: ['mock/other'] });
        return gateway.call(PATH, { key, body: HELLO });
      },
    ],
    [
      'no balance',
      402,
      'mock/chat-1',
      async () => gateway.call(PATH, { key: (await gateway.customer({}, 0n)).key, body: HELLO }),
    ],
    [
      'a rate limit',
      429,
      'mock/chat-1',
      () => gateway.call(PATH, { key: customer.key, body: asking('status=429 retry_after=7') }),
    ],
    [
      'a failed provider',
      503,
      'mock/chat-1',
      () => gateway.call(PATH, { key: customer.key, body: { ...asking('status=503'), stream: true } }),
    ],
    [
      'a job without an Idempotency-Key',
      400,
      null,
      () => gateway.call('/v1/video/generations', { key: customer.key, body: { model: 'mock/video-1' } }),
    ],
  ])('%s', async (_case, status, model, call) => {
    const { headers, ...reply } = await call();
    expect([reply.status, headers.get('x-llm-cost-micro'), headers.get('x-llm-model')]).toEqual([status, '0', model]);
  });

  it('but errors of other routes do not', async () => {
    const { headers, status } = await gateway.call('/v1/models/a/b', { key: customer.key });
    expect([status, headers.has('x-llm-cost-micro'), headers.has('x-llm-model')]).toEqual([404, false, false]);
  });
});
