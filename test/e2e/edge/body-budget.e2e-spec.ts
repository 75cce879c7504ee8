import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ReadableStream } from 'node:stream/web';
import { FakeUpstream } from '../../conformance/fake-upstream';
import { TestGateway, type TestCustomer } from '../../harness/gateway';
import { createCatalog } from '../../harness/upstream-models';

const PATH = '/v1/chat/completions';
const REQUEST_BYTES = 200_000;
/** An eighth is reserved for small bodies, and each organization leaves a quarter to the others. */
const BUDGET_BYTES = 400_000;
const SHED = [503, 'service_unavailable', '1'];

let upstream: FakeUpstream;
let catalog: ReturnType<typeof createCatalog>;
let gateway: TestGateway;
let customer: TestCustomer;
let other: TestCustomer;
const sockets: Socket[] = [];

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  catalog = createCatalog();
  gateway = await TestGateway.start({
    CATALOG_DIR: catalog.path,
    OPENAI_COMPATIBLE_BASE_URL: upstream.origin,
    OPENAI_COMPATIBLE_API_KEY: 'test',
    MAX_REQUEST_BYTES: String(REQUEST_BYTES),
    MAX_MULTIPART_BYTES: String(REQUEST_BYTES),
    MAX_BUFFERED_BYTES: String(BUDGET_BYTES),
  });
  customer = await gateway.customer();
  other = await gateway.customer();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await eventuallyThereIsRoom(190_000, 150_000);
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  catalog.remove();
});

const chat = (content: string): object => ({ model: 'mock/chat-1', messages: [{ role: 'user', content }] });
const large = (bytes: number): object => chat(`${'x'.repeat(bytes)} [[mock: delay=0]]`);

/** Status, code and Retry-After of one request. */
async function ask(body: unknown): Promise<unknown[]> {
  const reply = await gateway.call(PATH, { key: customer.key, body });
  return reply.status === 200 ? [200] : [reply.status, reply.json.error.code, reply.headers.get('retry-after')];
}

/** A client that announces `bytes` and sends none yet. */
async function announce(bytes: number, key = customer.key, ...headers: string[]): Promise<Socket> {
  const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' });
  sockets.push(socket.on('error', () => undefined));
  await once(socket, 'connect');
  const lines = [
    `POST ${PATH} HTTP/1.1`,
    'Host: gateway',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${bytes}`,
    ...headers,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return socket;
}

/** Announces a body with Expect: 100-continue, so that the response shows whether there is room. */
async function askForRoom(bytes: number, key = customer.key): Promise<[status: string, socket: Socket]> {
  const socket = await announce(bytes, key, 'Expect: 100-continue');
  const [head] = (await once(socket, 'data')) as [Buffer];
  return [head.toString('latin1').slice(9, 12), socket];
}

/** Waits until bodies of these sizes fit together; reserves nothing. */
async function eventuallyThereIsRoom(...sizes: number[]): Promise<void> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline;) {
    const admitted: [number, Socket][] = [];
    for (const [index, bytes] of sizes.entries()) {
      const [status, socket] = await askForRoom(bytes, index === 0 ? customer.key : other.key);
      if (status === '100') admitted.push([bytes, socket]);
    }
    for (const [bytes, socket] of admitted) {
      socket.write(Buffer.alloc(bytes, 0x20));
      await once(socket, 'data');
    }
    if (admitted.length === sizes.length) return;
  }
  throw new Error(`there is no room for ${sizes.join(' and ')} bytes`);
}

describe('bodies over the memory budget', () => {
  it('are refused before they are read, while small bodies are still served', async () => {
    expect((await askForRoom(190_000, other.key))[0]).toBe('100');
    expect((await askForRoom(100_000))[0]).toBe('100');
    expect((await askForRoom(100_000))[0]).toBe('503');
    expect(await ask(large(100_000))).toEqual(SHED);
    expect(await ask(large(50_000))).toEqual([200]);
  });

  it('of one organization do not affect other organizations', async () => {
    for (let index = 0; index < 10; index++) await askForRoom(60_000);
    for (let index = 0; index < 10; index++) await askForRoom(10_000);
    expect((await askForRoom(10_000))[0]).toBe('503');
    expect((await askForRoom(50_000, other.key))[0]).toBe('100');
    expect((await askForRoom(50_000, other.key))[0]).toBe('100');
  });

  it('free their memory when their clients disconnect', async () => {
    const [, first] = await askForRoom(190_000);
    expect((await askForRoom(190_000, other.key))[0]).toBe('503');
    first.destroy();
    await eventuallyThereIsRoom(190_000);
  });

  it('free their memory however a request ends', async () => {
    for (let index = 0; index < 6; index++) {
      expect(await ask(large(190_000))).toEqual([200]);
      expect((await ask({ ...large(190_000), model: 'mock/none' }))[0]).toBe(404);
      expect((await ask(`{"broken": "${'x'.repeat(190_000)}`))[0]).toBe(400);
      expect((await ask(large(210_000)))[0]).toBe(413);
      expect((await ask(chat(`${'x'.repeat(190_000)} [[mock: status=500]]`)))[0]).toBe(503);
    }
  });

  it('keep their reservation until the response, because the parsed body is needed until then', async () => {
    const leaving = new AbortController();
    const slow = gateway
      .call(PATH, { key: customer.key, body: chat(`${'x'.repeat(190_000)} [[mock: hang]]`), signal: leaving.signal })
      .catch(() => undefined);
    for (const deadline = performance.now() + 60_000; performance.now() < deadline;) {
      const held = await gateway.rows(`SELECT id FROM reservation WHERE organization_id = $1 AND state = 'held'`, [
        customer.organizationId,
      ]);
      if (held.length > 0) break;
    }
    expect((await askForRoom(190_000, other.key))[0]).toBe('503');
    leaving.abort();
    await slow;
    await eventuallyThereIsRoom(190_000);
  });

  it('stay counted while work continues for a client that has left and may retry with its key', async () => {
    const called = Promise.withResolvers<() => void>();
    upstream.answer = (response) => called.resolve(() => response.writeHead(400).end());
    const leaving = new AbortController();
    const body = { model: 'local/chat', messages: [{ role: 'user', content: 'x'.repeat(190_000) }] };
    const headers = { 'idempotency-key': 'left' };
    const left = gateway
      .call(PATH, { key: customer.key, body, headers, signal: leaving.signal })
      .catch(() => undefined);
    const fail = await called.promise;
    leaving.abort();
    await left;
    expect((await askForRoom(190_000, other.key))[0]).toBe('503');
    fail();
    await eventuallyThereIsRoom(190_000, 150_000);
  });

  it('are refused while they arrive without a Content-Length', async () => {
    await askForRoom(190_000, other.key);
    await askForRoom(140_000);
    const stream = (bytes: number) => {
      let left = bytes;
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          if (left <= 0) return controller.close();
          const piece = Buffer.alloc(Math.min(left, 10_000), 0x20);
          left -= piece.length;
          controller.enqueue(piece);
        },
      });
    };
    const send = async (bytes: number) => {
      const init = { method: 'POST', body: stream(bytes), duplex: 'half' };
      const headers = { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' };
      const response = await fetch(`${gateway.url}${PATH}`, { ...init, headers } as RequestInit);
      const { error } = (await response.json()) as { error: { code: string } };
      return [response.status, error.code];
    };
    // Whitespace alone is not JSON, but only a body with a reservation is read far enough to notice.
    expect(await send(60_000)).toEqual([400, 'invalid_json']);
    expect(await send(100_000)).toEqual([503, 'service_unavailable']);
    // This body never completes: the refusal comes earlier.
    const endless = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' });
    sockets.push(endless.on('error', () => undefined));
    const head = ['Host: gateway', `Authorization: Bearer ${customer.key}`, 'Content-Type: application/json'];
    endless.write(`POST ${PATH} HTTP/1.1\r\n${head.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    endless.write(`186a0\r\n${' '.repeat(100_000)}\r\n`);
    const [answer] = (await once(endless, 'data')) as [Buffer];
    expect(answer.toString('latin1')).toMatch(/^HTTP\/1\.1 503 /);
    expect(await send(60_000)).toEqual([400, 'invalid_json']);
  });

  it('count their parsed size in memory, not only their text', async () => {
    const objects = (count: number): object => ({
      ...chat('[[mock: delay=0]]'),
      metadata_of_mine: Array.from({ length: count }, () => ({})),
    });
    await askForRoom(190_000, other.key);
    expect(await ask(objects(3_000))).toEqual(SHED);
    expect(await ask({ ...chat('[[mock: delay=0]]'), metadata_of_mine: 'x'.repeat(9_000) })).toEqual([200]);
    // Retrying does not help a body that does not fit even alone.
    expect(await ask(objects(6_000))).toEqual([400, 'validation_failed', null]);
  });
});

it('delivers the refusal of a body to a client that is still sending, and keeps the connection open', async () => {
  const socket = await announce(REQUEST_BYTES + 1_000_000);
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  for (let sent = 0; sent < REQUEST_BYTES + 1_000_000; sent += 120_000) {
    socket.write(Buffer.alloc(Math.min(120_000, REQUEST_BYTES + 1_000_000 - sent), 0x20));
  }
  while (!received.includes('\r\n\r\n')) await once(socket, 'data');
  expect(received).toMatch(/^HTTP\/1\.1 413 /);
  received = '';
  socket.write('GET /health HTTP/1.1\r\nHost: gateway\r\n\r\n');
  while (!received.includes('uptime_seconds')) await once(socket, 'data');
  expect(received).toMatch(/HTTP\/1\.1 200 /);
});
