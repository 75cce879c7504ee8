import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { FaultProxy } from './fault-proxy';

let server: Server;
let served: Socket[];
let received: string;
let proxy: FaultProxy;

beforeEach(async () => {
  served = [];
  received = '';
  server = createServer({ allowHalfOpen: true }, (socket) => {
    served.push(socket);
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (text) => (received += text));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await FaultProxy.start(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
afterEach(async () => {
  await proxy.close();
  served.forEach((socket) => socket.destroy());
  server.close();
  await once(server, 'close');
});

/** Both ends of a connection through the proxy. */
async function join(): Promise<{ client: Socket; far: Socket }> {
  const client = connect({ port: Number(new URL(proxy.url).port), host: '127.0.0.1', allowHalfOpen: true });
  client.on('error', () => undefined);
  const before = served.length;
  await until(() => served.length > before);
  return { client, far: served[before] as Socket };
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Resolves with whether it was reset. */
function closed(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => socket.once('close', resolve));
}

/** The pieces that arrive at a socket. */
function collect(socket: Socket): string[] {
  const pieces: string[] = [];
  socket.on('data', (data) => pieces.push(data.toString('latin1')));
  return pieces;
}

it('forwards both directions, and counts connections and bytes', async () => {
  const { client, far } = await join();
  const answers = collect(client);
  client.write('ask');
  far.write('answer');
  await until(() => received === 'ask' && answers.join('') === 'answer');
  expect([proxy.connections, proxy.open, proxy.bytes]).toEqual([1, 1, { toServer: 3, toClient: 6 }]);
  far.end();
  client.end();
  await until(() => proxy.open === 0);
});

it('forwards the end of one direction and keeps the other open', async () => {
  const { client, far } = await join();
  const answers = collect(client);
  client.end('last words');
  await once(far, 'end');
  far.end('still here');
  await once(client, 'end');
  expect([received, answers.join('')]).toEqual(['last words', 'still here']);
});

it('holds all data while it hangs, and loses none', async () => {
  const { client, far } = await join();
  const answers = collect(client);
  proxy.fail('toClient', { hang: true });
  far.write('held');
  client.write('hello');
  await until(() => received === 'hello');
  expect(answers).toEqual([]);
  proxy.heal();
  await until(() => answers.join('') === 'held');
});

it('reads little from a side whose bytes it holds', async () => {
  const { client } = await join();
  proxy.fail('toServer', { hang: true });
  let sent = 0;
  while (client.write(Buffer.alloc(65_536))) sent++;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(client.writableNeedDrain).toBe(true);
  expect([proxy.bytes.toServer, sent < 1_000]).toEqual([0, true]);
});

it('delivers in slices, with latency', async () => {
  const { client, far } = await join();
  const answers = collect(client);
  proxy.fail('toClient', { sliceBytes: 2, latencyMs: 20 });
  const startedAt = performance.now();
  far.write('abcdef');
  await until(() => answers.join('') === 'abcdef');
  expect(answers).toEqual(['ab', 'cd', 'ef']);
  expect(performance.now() - startedAt).toBeGreaterThan(50);
});

it('delivers no faster than its bandwidth', async () => {
  const { client, far } = await join();
  const answers = collect(client);
  proxy.fail('toClient', { bytesPerSecond: 1_000 });
  const startedAt = performance.now();
  far.write('x'.repeat(200));
  await until(() => answers.join('').length === 200);
  expect(performance.now() - startedAt).toBeGreaterThan(180);
});

it.each(['toClient', 'toServer'] as const)('resets both sides after this many bytes %s', async (direction) => {
  proxy.fail(direction, { cut: { afterBytes: 3, by: 'reset' } });
  const { client, far } = await join();
  const answers = collect(client);
  const reset = Promise.all([client, far].map(closed));
  (direction === 'toClient' ? far : client).write('abcdef');
  expect(await reset).toEqual([true, true]);
  expect(direction === 'toClient' ? answers.join('') : received).toMatch(/^(abc)?$/);
  expect(proxy.bytes[direction]).toBe(3);
});

it('ends a direction cleanly after this many bytes', async () => {
  proxy.fail('toClient', { cut: { afterBytes: 3, by: 'end' } });
  const { client, far } = await join();
  const answers = collect(client);
  far.write('abcdef');
  await once(client, 'end');
  expect(answers.join('')).toBe('abc');
});

it('replaces bytes with garbage', async () => {
  const { client, far } = await join();
  const answers = collect(client);
  proxy.fail('toClient', { garbage: true });
  far.write(Buffer.of(0, 0xff, 0x0f));
  await until(() => answers.join('').length === 3);
  expect(answers.join('')).toBe('\xff\0\xf0');
});

it('cuts open connections and refuses new ones until it is healed', async () => {
  const { client } = await join();
  const cut = closed(client);
  proxy.cutOff();
  expect(await cut).toBe(true);
  const refused = connect(Number(new URL(proxy.url).port), '127.0.0.1').on('error', () => undefined);
  await closed(refused.resume());
  proxy.heal();
  const { far } = await join();
  expect(far.destroyed).toBe(false);
});
