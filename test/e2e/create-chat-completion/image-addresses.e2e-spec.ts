import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGateway } from '../../../src/create-gateway';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { PATIENCE_MS } from '../../harness/database';
import { TestGateway, type CallReply, type TestCustomer } from '../../harness/gateway';
import { PIXEL, PublicHost, respondWith } from '../../harness/public-host';
import { takeAttempts } from '../../harness/socket-watch';
import { chunk, createCatalog, event, usageChunk } from '../../harness/upstream-models';

const PATH = '/v1/chat/completions';
const PIXEL_DATA = `data:image/png;base64,${PIXEL.toString('base64')}`;

const catalog = createCatalog();
let host: PublicHost;
let upstream: FakeUpstream;
let gateway: TestGateway;
let customer: TestCustomer;

const READS_ADDRESSES = { provider: 'openai-compatible', upstream_model: 'reads-addresses' };
const NEEDS_BYTES = {
  provider: 'openai-compatible',
  upstream_model: 'needs-bytes',
  quirks: { inputImageUrls: 'inline' },
};

const model = (id: string, deployments: readonly object[]): object => ({
  id,
  display_name: id,
  modality: 'text',
  input_modalities: ['text', 'image'],
  output_modalities: ['text'],
  context: 32_768,
  max_output: 8_192,
  deployments,
  prices: [
    {
      effective_from: '2026-01-01',
      source: 'made up',
      checked_at: '2026-01-01',
      tokens: { per_1m_micro: { input: 1_000_000, output: 2_000_000 } },
    },
  ],
});
const models = [model('local/inlining', [NEEDS_BYTES]), model('local/mixed', [READS_ADDRESSES, NEEDS_BYTES])];

beforeAll(async () => {
  host = await PublicHost.start();
  upstream = await FakeUpstream.start();
  writeFileSync(join(catalog.path, 'inlining.json'), JSON.stringify(models));
  const settings = {
    OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
    CATALOG_DIR: catalog.path,
    OUTBOUND_ALLOW_CIDRS: '127.0.0.1',
  };
  // On a busy machine, many or large images take longer than the gateway allows.
  const limits = { connectMs: PATIENCE_MS, imageMs: PATIENCE_MS };
  gateway = await TestGateway.start(settings, undefined, undefined, ({ outbound, ...config }, ...rest) => {
    const patient = { ...outbound, limits };
    return createGateway({ ...config, outbound: patient }, ...rest);
  });
  customer = await gateway.customer();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  await host.stop();
  catalog.remove();
});
beforeEach(() => {
  upstream.received.length = 0;
  host.seen.length = 0;
  host.answer = (response) => respondWith(response, PIXEL);
  upstream.answer = (response) => response.setHeader('content-type', 'application/json').end(JSON.stringify(REPLY));
});

const REPLY = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'A dot.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 90, completion_tokens: 3 },
};

const picture = (url: string, extra: object = {}) => ({ type: 'image_url', image_url: { url, ...extra } });
const words = { type: 'text', text: 'What is this?' };

function ask(parts: readonly object[], body: object = {}, headers: Record<string, string> = {}): Promise<CallReply> {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: parts },
  ];
  return gateway.call(PATH, { key: customer.key, headers, body: { model: 'local/inlining', messages, ...body } });
}

const partsAt = (index: number) => JSON.parse(upstream.received[index]?.body ?? '{}').messages[1].content;
const heldMicro = async (): Promise<unknown> => {
  const [row] = await gateway.rows<{ held: string }>(
    `SELECT coalesce(sum(reserved_micro), 0)::text AS held FROM organization_account WHERE organization_id = $1`,
    [customer.organizationId],
  );
  return row?.held;
};

describe('an image URL that is not public', () => {
  it.each([
    'https://127.0.0.2/a.png',
    'https://0x7f000002/a.png',
    'https://169.254.169.254/latest/meta-data',
    'https://[::ffff:10.0.0.1]/',
    'https://metadata.google.internal/',
    'https://redis:6379/',
  ])('is refused before any other check: %s', async (url) => {
    takeAttempts();
    for (const model of ['local/chat', 'mock/chat-1', 'no/model']) {
      const reply = await ask([words, picture(PIXEL_DATA), picture(url)], { model });
      expect([reply.status, reply.json.error.code]).toEqual([400, 'ssrf_blocked']);
      expect(reply.json.error.param).toBe('messages[1].content[2].image_url.url');
      expect(reply.json.error.message).not.toContain('a.png');
    }
    expect([upstream.received, takeAttempts()]).toEqual([[], []]);
  });

  it('is refused by the responses endpoint with its field names', async () => {
    const input = [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://10.0.0.1/a.png' }] }];
    const reply = await gateway.call('/v1/responses', { key: customer.key, body: { model: 'local/chat', input } });
    expect([reply.status, reply.json.error.code]).toEqual([400, 'ssrf_blocked']);
    expect(reply.json.error.param).toBe('input[0].content[0].image_url');
    expect(reply.json.error.message).toMatch(/^input\[0\]\.content\[0\]\.image_url /);
  });

  it.each(['https://user@example.com/a.png', 'https://exam\tple.com/', 'http://example.com/a.png'])(
    'or not an https URL is refused: %j',
    async (url) => {
      const reply = await ask([picture(url)]);
      expect([reply.status, reply.json.error.code]).toEqual([400, 'validation_failed']);
      expect(reply.json.error.param).toBe('messages[1].content[0].image_url.url');
    },
  );
});

describe('images for a deployment that accepts only bytes', () => {
  it.each([false, true])('are fetched once each and sent as bytes: stream=%s', async (stream) => {
    const frames = chunk({ content: 'A dot.' }) + chunk({}, 'stop') + usageChunk(90, 3) + event('[DONE]');
    if (stream) upstream.answer = (response) => response.setHeader('content-type', 'text/event-stream').end(frames);
    const [first, second] = [host.url('/1.png'), host.url('/2.png')];
    const reply = await ask(
      [picture(first, { detail: 'low' }), words, picture(second), picture(first), picture(PIXEL_DATA)],
      {
        stream,
      },
    );
    expect(reply.status).toBe(200);
    expect(partsAt(0)).toEqual([
      picture(PIXEL_DATA, { detail: 'low' }),
      words,
      picture(PIXEL_DATA),
      picture(PIXEL_DATA),
      picture(PIXEL_DATA),
    ]);
    expect(host.seen.map(({ url }) => url).toSorted()).toEqual(['/1.png', '/2.png']);
  });

  it('are fetched after the hold, and not at all without it', async () => {
    const poor = await gateway.customer({}, 1n);
    const messages = [{ role: 'user', content: [picture(host.url('/a.png'))] }];
    const reply = await gateway.call(PATH, { key: poor.key, body: { model: 'local/inlining', messages } });
    expect([reply.status, host.seen.length]).toEqual([402, 0]);
  });

  it('are not fetched again for a replay', async () => {
    const headers = { 'idempotency-key': 'one-picture' };
    const original = await ask([picture(host.url('/a.png'))], {}, headers);
    const repeated = await ask([picture(host.url('/a.png'))], {}, headers);
    expect(repeated.headers.get('idempotent-replayed')).toBe('true');
    expect([repeated.text, host.seen.length]).toEqual([original.text, 1]);
  });

  it.each([false, true])('that cannot be fetched are reported without a charge: stream=%s', async (stream) => {
    host.answer = (response, { url }) => {
      if (url === '/good.png') respondWith(response, PIXEL);
      else response.writeHead(404).end();
    };
    const gone = picture(host.url('/gone.png'));
    const reply = await ask([picture(host.url('/good.png')), gone, gone], { stream });
    expect([reply.status, reply.json.error.code]).toEqual([400, 'validation_failed']);
    expect(reply.json.error.param).toBe('messages[1].content[1].image_url.url');
    expect([upstream.received.length, await heldMicro()]).toEqual([0, '0']);
    expect(await gateway.violations()).toEqual([]);
  });

  it('are limited to 20: a 21st is refused before any is fetched', async () => {
    const pictures = Array.from({ length: 21 }, (_, index) => picture(host.url(`/${index}.png`)));
    expect((await ask(pictures.slice(1))).status).toBe(200);
    host.seen.length = 0;
    const reply = await ask(pictures);
    expect([reply.status, reply.json.error.param]).toEqual([400, 'messages[1].content[20].image_url.url']);
    expect(host.seen).toEqual([]);
  });

  it('are limited to 20 MiB in total', async () => {
    const large = Buffer.concat([PIXEL, Buffer.alloc(11 * 1024 * 1024)]);
    host.answer = (response) => respondWith(response, large);
    const reply = await ask([picture(host.url('/1.png')), picture(host.url('/2.png'))]);
    expect([reply.status, reply.json.error.code]).toEqual([400, 'validation_failed']);
    expect(reply.json.error.message).toContain('too large together');
    expect(upstream.received).toEqual([]);
  });

  it('are fetched once per URL, but count per occurrence', async () => {
    const large = Buffer.concat([PIXEL, Buffer.alloc(5 * 1024 * 1024)]);
    host.answer = (response) => respondWith(response, large);
    const shown = Array.from({ length: 5 }, () => picture(host.url('/1.png')));
    const reply = await ask(shown);
    expect([reply.status, reply.json.error?.code]).toEqual([400, 'validation_failed']);
    expect(reply.json.error.message).toContain('too large together');
    expect([upstream.received, host.seen.length]).toEqual([[], 1]);
    expect((await ask(shown.slice(2))).status).toBe(200);
  });
});

it('images are passed as URLs to a deployment that accepts URLs', async () => {
  const url = host.url('/a.png');
  expect((await ask([picture(url)], { model: 'local/chat' })).status).toBe(200);
  expect([partsAt(0), host.seen]).toEqual([[picture(url)], []]);
});

describe('concurrent requests with images', () => {
  it('count toward the body memory budget: a request without room gets Retry-After, and room is freed later', async () => {
    const large = Buffer.concat([PIXEL, Buffer.alloc(16 * 1024 * 1024)]);
    let arrived = 0;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    host.answer = (response) => respondWith(response, large);
    upstream.answer = async (response) => {
      arrived++;
      await released;
      response.setHeader('content-type', 'application/json').end(JSON.stringify(REPLY));
    };
    // One organization may use 3/4 of the budget for large bodies: 84 MiB.
    const asked = Array.from({ length: 8 }, (_, index) =>
      ask([picture(host.url(`/${index}.png`))]).then((reply) => {
        if (reply.status !== 200) arrived++;
        return reply;
      }),
    );
    while (arrived < asked.length) await new Promise((done) => setTimeout(done, 10));
    release();
    const replies = await Promise.all(asked);
    const refused = replies.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThanOrEqual(3);
    expect(replies.filter(({ status }) => status === 200).length).toBe(8 - refused.length);
    expect(refused[0]?.json.error.code).toBe('service_unavailable');
    expect((await ask([picture(host.url('/again.png'))])).status).toBe(200);
    expect(await heldMicro()).toBe('0');
  });
});

describe('a route with both kinds of deployment', () => {
  it('sends each deployment the form that it accepts', async () => {
    const url = host.url('/a.png');
    upstream.answer = (response, { body }) => {
      const refused = JSON.parse(body).model === 'reads-addresses';
      if (refused) response.writeHead(500).end();
      else response.setHeader('content-type', 'application/json').end(JSON.stringify(REPLY));
    };
    expect((await ask([picture(url)], { model: 'local/mixed' })).status).toBe(200);
    const sent = upstream.received.map(({ body }, index) => [JSON.parse(body).model, partsAt(index)]);
    expect(sent.at(0)).toEqual(['reads-addresses', [picture(url)]]);
    expect(sent.at(-1)).toEqual(['needs-bytes', [picture(PIXEL_DATA)]]);
  });

  it('fetches no image until a deployment needs it', async () => {
    expect((await ask([picture(host.url('/a.png'))], { model: 'local/mixed' })).status).toBe(200);
    expect(host.seen).toEqual([]);
  });
});
