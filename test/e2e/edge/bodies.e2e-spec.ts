import { parse } from 'yaml';
import { TestGateway, type TestCustomer } from '../../harness/gateway';

let gateway: TestGateway;
let customer: TestCustomer;
beforeAll(async () => {
  gateway = await TestGateway.start({ TRUST_PROXY: '1' });
  customer = await gateway.customer();
});
afterAll(() => gateway.stop());

describe('large bodies', () => {
  it('refuses a repeated name also behind five million escapes, within the default size of a body', async () => {
    const text = String.raw`\"`.repeat(5_200_000);
    const body = `{"model":"mock/chat-1","messages":[{"role":"user","content":"${text}"}],"seed":1,"seed":2}`;
    const { status, json } = await gateway.call('/v1/chat/completions', { key: customer.key, body });
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', 'seed']);
  });

  it('refuses a repeated name also behind a string of nine million characters', async () => {
    const body = `{"model":"mock/chat-1","messages":[{"role":"user","content":"${'x'.repeat(9_000_000)}"}],"seed":1,"seed":2}`;
    const { status, json } = await gateway.call('/v1/chat/completions', { key: customer.key, body });
    expect([status, json.error.code, json.error.param]).toEqual([400, 'validation_failed', 'seed']);
  });

  it('does not send a whole repeated name back', async () => {
    const name = `"${'n'.repeat(1_000_000)}":1`;
    const body = `{"model":"mock/chat-1","messages":[{"role":"user","content":"hi"}],${name},${name}}`;
    const { status, text } = await gateway.call('/v1/chat/completions', { key: customer.key, body });
    expect(status).toBe(400);
    expect(text.length).toBeLessThan(10_000);
  });
});

describe('content coding', () => {
  it('is refused, as none is understood', async () => {
    const { status, json } = await gateway.call('/v1/chat/completions', {
      key: customer.key,
      body: { model: 'mock/chat-1', messages: [{ role: 'user', content: 'hi' }] },
      headers: { 'content-encoding': 'gzip' },
    });
    expect([status, json.error.code]).toEqual([415, 'unsupported_media_type']);
  });
});

describe('the served document', () => {
  it('names an HTTP address as its server, whatever a client says in X-Forwarded-Proto', async () => {
    const { text } = await gateway.call('/openapi.yaml', { headers: { 'x-forwarded-proto': 'javascript' } });
    const { servers } = parse(text) as { servers: { url: string }[] };
    expect(servers[0]?.url).toMatch(/^(https?:\/\/|\/)/);
  });

  it('is not kept by shared caches while it names the address that one client used', async () => {
    const { headers } = await gateway.call('/openapi.yaml');
    expect(headers.get('cache-control') ?? '').toMatch(/no-store|private/);
  });

  it('names, without PUBLIC_BASE_URL, a server that can be reached', async () => {
    const { text } = await gateway.call('/openapi.yaml');
    const { servers } = parse(text) as { servers: { url: string }[] };
    const [server] = servers;
    const models = new URL(`${server?.url.replace(/\/$/, '')}/v1/models`, `${gateway.url}/openapi.yaml`);
    const response = await fetch(models, { headers: { authorization: `Bearer ${customer.key}` } });
    expect(response.status).toBe(200);
  });
});
