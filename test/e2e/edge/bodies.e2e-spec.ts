import { load } from 'js-yaml';
import { tinyPng } from '../../conformance/media-answers';
import { TestGateway, type TestCustomer } from '../../harness/gateway';

let gateway: TestGateway;
let customer: TestCustomer;
beforeAll(async () => {
  gateway = await TestGateway.start({ TRUST_PROXY: '1' });
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

describe('large bodies', () => {
  it('refuses a repeated name after five million escapes, within the default body size', async () => {
    const text = String.raw`\"`.repeat(5_200_000);
    const body = `{"model":"mock/chat-1","messages":[{"role":"user","content":"${text}"}],"seed":1,"seed":2}`;
    const { status, json } = await gateway.call('/v1/chat/completions', { key: customer.key, body });
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', 'seed']);
  });

  it('refuses a repeated name after a string of nine million characters', async () => {
    const body = `{"model":"mock/chat-1","messages":[{"role":"user","content":"${'x'.repeat(9_000_000)}"}],"seed":1,"seed":2}`;
    const { status, json } = await gateway.call('/v1/chat/completions', { key: customer.key, body });
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', 'seed']);
  });

  it('truncates a long repeated name in the error', async () => {
    const name = `"${'n'.repeat(1_000_000)}":1`;
    const body = `{"model":"mock/chat-1","messages":[{"role":"user","content":"hi"}],${name},${name}}`;
    const { status, text } = await gateway.call('/v1/chat/completions', { key: customer.key, body });
    expect(status).toBe(400);
    expect(text.length).toBeLessThan(10_000);
  });
});

describe('a number that would lose precision', () => {
  const chat = '"model":"mock/chat-1","messages":[{"role":"user","content":"hi"}]';
  const tool = (maximum: string): string =>
    `"type":"function","name":"f","function":{"name":"f","parameters":{"properties":{"id":{"maximum":${maximum}}}}}`;

  it.each([
    ['chat/completions', `{${chat},"seed":9007199254740993}`, 'seed'],
    [
      'chat/completions',
      `{${chat},"tools":[{${tool('9223372036854775807')}}]}`,
      'tools[0].function.parameters.properties.id.maximum',
    ],
    ['chat/completions', `{${chat},"logit_bias":{"50256":-18446744073709551615}}`, 'logit_bias.50256'],
    ['completions', '{"model":"mock/chat-1","prompt":"hi","seed":-9007199254740993}', 'seed'],
    ['embeddings', '{"model":"mock/embedding-1","input":[[1,9007199254740993]]}', 'input[0][1]'],
    ['responses', '{"model":"mock/chat-1","input":"hi","metadata":{"id":9007199254740993}}', 'metadata.id'],
    ['images/generations', '{"model":"mock/image-1","prompt":"a","n":9007199254740993}', 'n'],
    ['images/edits', '{"model":"mock/image-1","prompt":"a","input_images":[9007199254740993]}', 'input_images[0]'],
    ['audio/speech', '{"model":"mock/speech-1","input":"a","voice":"alloy","speed":9007199254740993.0}', 'speed'],
    ['video/generations', '{"model":"mock/video-1","prompt":"a","max_cost_micro":9007199254740993}', 'max_cost_micro'],
    ['music/generations', '{"model":"mock/music-1","prompt":"a","metadata":{"id":9007199254740993}}', 'metadata.id'],
  ])('is refused by %s: %s', async (path, body, param) => {
    const headers = { 'idempotency-key': 'digits' };
    const { status, json } = await gateway.call(`/v1/${path}`, { key: customer.key, headers, body });
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', param]);
    expect(json.error.message).toContain('losing digits');
  });

  it('is refused in a form too', async () => {
    const form = new FormData();
    form.set('model', 'mock/image-1');
    form.set('prompt', 'a');
    form.set('n', '9007199254740993');
    form.set('image', new Blob([tinyPng()], { type: 'image/png' }), 'a.png');
    const { status, json } = await gateway.call('/v1/images/edits', { key: customer.key, body: form });
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', 'n']);
  });
});

describe('content coding', () => {
  it('is refused: the gateway supports none', async () => {
    const { status, json } = await gateway.call('/v1/chat/completions', {
      key: customer.key,
      body: { model: 'mock/chat-1', messages: [{ role: 'user', content: 'hi' }] },
      headers: { 'content-encoding': 'gzip' },
    });
    expect([status, json.error.code]).toEqual([415, 'unsupported_media_type']);
  });
});

describe('the served OpenAPI document', () => {
  it('names an http URL as its server, ignoring X-Forwarded-Proto of a client', async () => {
    const { text } = await gateway.call('/openapi.yaml', { headers: { 'x-forwarded-proto': 'javascript' } });
    const { servers } = load(text) as { servers: { url: string }[] };
    expect(servers[0]?.url).toMatch(/^(https?:\/\/|\/)/);
  });

  it('is not cacheable by shared caches when it contains the URL that one client used', async () => {
    const { headers } = await gateway.call('/openapi.yaml');
    expect(headers.get('cache-control') ?? '').toMatch(/no-store|private/);
  });

  it('names a reachable server without PUBLIC_BASE_URL', async () => {
    const { text } = await gateway.call('/openapi.yaml');
    const { servers } = load(text) as { servers: { url: string }[] };
    const [server] = servers;
    const models = new URL(`${server?.url.replace(/\/$/, '')}/v1/models`, `${gateway.url}/openapi.yaml`);
    const response = await fetch(models, { headers: { authorization: `Bearer ${customer.key}` } });
    expect(response.status).toBe(200);
  });
});
