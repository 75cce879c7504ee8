import { once } from 'node:events';
import { type IncomingMessage, request as startRequest } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { insertReceipts } from '../../../integration/usage/receipts';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway } from '../../../harness/gateway';

const MODELS = '/dashboard/api/models';

let gateway: TestGateway;
let client: DashboardClient;
let series: string;
beforeAll(async () => {
  // The models of a real vendor make a long list.
  gateway = await TestGateway.start({ OPENAI_API_KEY: 'sk-of-no-account' });
  client = await gateway.dashboardUser();
  await insertReceipts(gateway.pool, { organizationId: client.organizationId, count: 3_000, hours: 700, models: 20 });
  const from = new Date(Date.now() - 720 * 3_600_000).toISOString();
  series = client.path(`/usage/series?interval=hour&group_by=model&from=${from}`);
});
afterAll(() => gateway.stop());

interface RawReply {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** As it is on the wire: `fetch` would decompress it. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<RawReply> {
  const request = startRequest(`${gateway.url}${path}`, {
    method,
    headers: { cookie: client.cookie, ...headers },
  }).end();
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of reply) pieces.push(piece as Buffer);
  return { status: reply.statusCode, headers: reply.headers, body: Buffer.concat(pieces) };
}

const asking = (encoding: string): Record<string, string> => ({ 'accept-encoding': encoding });

describe('long JSON replies of the dashboard', () => {
  it.each([
    ['gzip', 'gzip', gunzipSync],
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
  ])('are compressed for Accept-Encoding %s', async (accepted, encoding, decompress) => {
    const plain = await ask(series);
    expect(plain.headers).toMatchObject({ vary: 'Accept-Encoding', 'cache-control': 'no-store' });
    expect(plain.headers).not.toHaveProperty('content-encoding');
    const reply = await ask(series, asking(accepted));
    expect(reply.headers).toMatchObject({
      'content-encoding': encoding,
      vary: 'Accept-Encoding',
      'content-length': String(reply.body.length),
      'content-type': 'application/json; charset=utf-8',
    });
    expect(decompress(reply.body).equals(plain.body)).toBe(true);
    expect(reply.body.length).toBeLessThan(plain.body.length / 10);
  });

  it.each(['identity', 'gzip;q=0', 'br;q=0.0, gzip;q=0'])('are plain for Accept-Encoding %s', async (accepted) => {
    const { headers, body } = await ask(series, asking(accepted));
    expect(headers).not.toHaveProperty('content-encoding');
    expect(() => JSON.parse(body.toString())).not.toThrow();
  });

  it('have the headers of the compressed reply in the answer to HEAD', async () => {
    const get = await ask(series, asking('gzip'));
    const head = await ask(series, asking('gzip'), 'HEAD');
    expect(head.body).toHaveLength(0);
    for (const name of ['content-encoding', 'content-length', 'vary'])
      expect(head.headers[name]).toBe(get.headers[name]);
  });

  it('have a weak tag when they are compressed, which asks for changes like the strong one', async () => {
    const plain = await ask(MODELS);
    const compressed = await ask(MODELS, asking('gzip'));
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(plain.headers.etag).toMatch(/^"/);
    expect(compressed.headers.etag).toBe(`W/${plain.headers.etag}`);
    for (const tag of [plain.headers.etag, compressed.headers.etag]) {
      const unchanged = await ask(MODELS, { ...asking('gzip'), 'if-none-match': String(tag) });
      expect([unchanged.status, unchanged.body.length]).toEqual([304, 0]);
      expect(unchanged.headers.vary).toBe('Accept-Encoding');
      expect(unchanged.headers).not.toHaveProperty('content-encoding');
    }
  });
});

describe('other replies', () => {
  it('are plain when they are short', async () => {
    const { headers, body } = await ask('/dashboard/api/me', asking('gzip, br'));
    expect(headers.vary).toBe('Accept-Encoding');
    expect(headers).not.toHaveProperty('content-encoding');
    expect(JSON.parse(body.toString())).toMatchObject({ id: client.userId });
  });

  it('are plain when they are streamed exports', async () => {
    const { headers, body } = await ask(client.path('/usage/requests.csv'), asking('gzip, br'));
    expect(headers).not.toHaveProperty('content-encoding');
    expect(headers['transfer-encoding']).toBe('chunked');
    expect(body.length).toBeGreaterThan(100_000);
  });

  it('are plain at /v1', async () => {
    const { key } = await gateway.customer();
    const { headers, body } = await ask('/v1/models', { ...asking('gzip, br'), authorization: `Bearer ${key}` });
    expect(body.length).toBeGreaterThan(16_384);
    expect(headers).not.toHaveProperty('content-encoding');
  });
});
