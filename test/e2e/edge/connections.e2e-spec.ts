import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Server } from 'node:http';
import { until } from '../../faults/figures';
import { TestGateway, type TestCustomer } from '../../harness/gateway';

let gateway: TestGateway;
let customer: TestCustomer;
let port: number;
beforeAll(async () => {
  gateway = await TestGateway.start();
  customer = await gateway.customer();
  port = Number(new URL(gateway.url).port);
});
afterAll(() => gateway.stop());

/** Connections that a failed expectation left open: the gateway stops only after they close. */
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection whose client sends `head` and never closes its half. */
async function open(head: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(head);
  return socket;
}

function request(body: string, ...headers: string[]): string {
  const lines = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: gateway',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

describe('broken connections', () => {
  it('answers malformed bytes after the stream in progress', async () => {
    const body = JSON.stringify({
      model: 'mock/chat-1',
      stream: true,
      messages: [{ role: 'user', content: '[[mock: chunks=20 delay=20ms]]' }],
    });
    const socket = await open(request(body, `Authorization: Bearer ${customer.key}`) + body);
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      if (received === '') socket.write('these bytes are not HTTP\r\n\r\n');
      received += chunk.toString('latin1');
    });
    await once(socket, 'end');
    expect(received.match(/HTTP\/1\.1 \d{3}|data: \[DONE\]/g)).toEqual([
      'HTTP/1.1 200',
      'data: [DONE]',
      'HTTP/1.1 400',
    ]);
  });

  it('answers pipelined requests before malformed bytes, in order', async () => {
    const body = JSON.stringify({ model: 'mock/chat-1', messages: [{ role: 'user', content: '[[mock: delay=0]]' }] });
    const chat = request(body, `Authorization: Bearer ${customer.key}`) + body;
    const health = 'GET /health HTTP/1.1\r\nHost: gateway\r\n\r\n';
    const socket = await open(`${chat}${health}these bytes are not HTTP\r\n\r\n`);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    await once(socket, 'end');
    expect(received.match(/HTTP\/1\.1 \d{3}|chat\.completion|uptime_seconds|not well-formed/g)).toEqual([
      'HTTP/1.1 200',
      'chat.completion',
      'HTTP/1.1 200',
      'uptime_seconds',
      'HTTP/1.1 400',
      'not well-formed',
    ]);
  });

  it.each([
    ['that is not HTTP', 'these bytes are not HTTP\r\n\r\n'],
    ['that sends a proxy request', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'],
  ])('closes a connection %s, even if the client does not close it', async (_case, head) => {
    const server: Server = gateway.app.getHttpServer();
    const count = (): Promise<number> =>
      new Promise((resolve, reject) =>
        server.getConnections((error, connections) => (error === null ? resolve(connections) : reject(error))),
      );
    const socket = await open(head);
    socket.resume();
    await once(socket, 'end');
    await until('the end of the connection', 3_000, async () => (await count()) === 0);
  });

  it('does not ask a caller without a key for the body', async () => {
    const socket = await open(request('x'.repeat(1_000), 'Expect: 100-continue'));
    const [first] = (await once(socket, 'data')) as [Buffer];
    // The client may omit or send the body: only closing the connection is unambiguous for both sides.
    expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 401 [^]*\r\nconnection: close\r\n/i);
  });

  it.each([
    ['413', 'Content-Type: application/json', 11 * 1_048_576],
    ['415', 'Content-Type: text/plain', 1_000],
  ])('answers %s without asking for a body that the headers rule out', async (status, contentType, bytes) => {
    const fields = ['Host: gateway', `Authorization: Bearer ${customer.key}`, contentType, `Content-Length: ${bytes}`];
    const head = `POST /v1/chat/completions HTTP/1.1\r\n${fields.join('\r\n')}\r\nExpect: 100-continue\r\n\r\n`;
    const [first] = (await once(await open(head), 'data')) as [Buffer];
    expect(first.toString('latin1')).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it('sends no 100 Continue to an HTTP/1.0 client, which would take it for the response', async () => {
    const body = JSON.stringify({ model: 'mock/none', messages: [{ role: 'user', content: 'Hello' }] });
    const head = request(body, `Authorization: Bearer ${customer.key}`, 'Expect: 100-continue');
    const socket = await open(head.replace('HTTP/1.1', 'HTTP/1.0') + body);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('rejects two Authorization headers', async () => {
    const one = `Authorization: Bearer ${customer.key}`;
    const other = 'Authorization: Bearer sk-llm-other';
    const socket = await open(`GET /v1/models HTTP/1.1\r\nHost: gateway\r\n${one}\r\n${other}\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 401 /);
  });
});
