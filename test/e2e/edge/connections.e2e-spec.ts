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

/** What a failed expectation left open: the gateway does not end before its connections do. */
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection whose client sends `head` and never closes its own half. */
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
  it('does not write an answer to broken bytes into a stream that is under way', async () => {
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
    expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200']);
  });

  it.each([
    ['that is not HTTP', 'these bytes are not HTTP\r\n\r\n'],
    ['that wants a proxy', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'],
  ])('lets go of a connection %s, also when its client does not', async (_case, head) => {
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
    expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('does not tell an HTTP/1.0 client to go on: it would take that for the answer', async () => {
    const body = JSON.stringify({ model: 'mock/none', messages: [{ role: 'user', content: 'Hello' }] });
    const head = request(body, `Authorization: Bearer ${customer.key}`, 'Expect: 100-continue');
    const socket = await open(head.replace('HTTP/1.1', 'HTTP/1.0') + body);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('does not choose between two Authorization headers', async () => {
    const one = `Authorization: Bearer ${customer.key}`;
    const other = 'Authorization: Bearer sk-llm-other';
    const socket = await open(`GET /v1/models HTTP/1.1\r\nHost: gateway\r\n${one}\r\n${other}\r\n\r\n`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 401 /);
  });
});
