import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { DONE } from './answer';
import { EventReply } from './live-reply';

const NEVER_MS = 60_000;
const FIRST_EVENTS = [1, 2, 3, 4].map((index) => `data: ${index}\n\n`);
/** Other paths do not merge events. */
const MERGE_MS: ReadonlyMap<string, number> = new Map([
  ['/merged', NEVER_MS],
  ['/merged-briefly', 20],
]);

let server: FastifyInstance;
/** Streams by path; each test writes to them. */
let opened: Map<string, EventReply>;

beforeAll(async () => {
  server = Fastify();
  server.get('/*', (request, reply) => void opened.set(request.url, start(reply, MERGE_MS.get(request.url))));
  await server.listen({ port: 0, host: '127.0.0.1' });
});
beforeEach(() => (opened = new Map()));
afterAll(() => server.close());

function start(reply: FastifyReply, mergeMs = 0): EventReply {
  const stream = new EventReply(
    reply,
    () => ({}),
    () => '',
    { pingMs: NEVER_MS, mergeMs, stallMs: NEVER_MS },
  );
  stream.start();
  return stream;
}

/**
 * Sends requests at once, waits for the last one, lets `write` produce the responses, and returns all bytes received.
 */
async function exchange(requests: readonly string[], write: () => unknown): Promise<string> {
  const client = connect((server.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
  client.write(requests.join(''));
  const received = text(client);
  while (opened.size < requests.length) await once(server.server, 'request');
  await write();
  return received;
}

function get(path: string, version = '1.1', connection = 'close'): string {
  return `GET ${path} HTTP/${version}\r\nhost: gateway\r\nconnection: ${connection}\r\n\r\n`;
}

function stream(path: string): EventReply {
  const found = opened.get(path);
  if (found === undefined) throw new Error(`no stream at ${path}`);
  return found;
}

/** Writes as many events as are sent before any event waits for others. */
function begin(path: string): void {
  for (const event of FIRST_EVENTS) stream(path).write(event);
}

function chunk(bytes: string): string {
  return `${Buffer.byteLength(bytes).toString(16)}\r\n${bytes}\r\n`;
}

const bodyOf = (response: string): string => response.slice(response.indexOf('\r\n\r\n') + 4);
const nextTick = (): Promise<void> => new Promise(setImmediate);

describe('an event stream', () => {
  it('sends each write as one chunk of the body, and none for an empty write, which would end it', async () => {
    const response = await exchange([get('/a')], async () => {
      stream('/a').write('data: first\n\n');
      stream('/a').write('');
      stream('/a').write('data: grüße 😀\n\n');
      await nextTick();
      stream('/a').write(Buffer.from('data: bytes ü\n\n'));
      stream('/a').write(Buffer.alloc(0));
      stream('/a').finish('data: last\n\n');
    });
    const writes = ['data: first\n\n', 'data: grüße 😀\n\n', 'data: bytes ü\n\n', `data: last\n\n${DONE}`];
    expect(bodyOf(response)).toBe(`${writes.map(chunk).join('')}0\r\n\r\n`);
  });

  it('waits for an earlier stream of the same connection', async () => {
    const response = await exchange([get('/a', '1.1', 'keep-alive'), get('/b')], async () => {
      for (const round of [1, 2]) {
        stream('/b').write(`data: b${round}\n\n`);
        stream('/a').write(`data: a${round}\n\n`);
        await nextTick();
      }
      stream('/a').finish('');
      await nextTick();
      stream('/b').write('data: b3\n\n');
      stream('/b').finish('');
    });
    expect(response.match(/data: \S+/g)).toEqual([
      'data: a1',
      'data: a2',
      'data: [DONE]',
      'data: b1',
      'data: b2',
      'data: b3',
      'data: [DONE]',
    ]);
    expect(response.match(/^0\r$/gm)).toHaveLength(2);
  });

  it('has no chunks for a client of HTTP/1.0', async () => {
    const response = await exchange([get('/a', '1.0')], async () => {
      stream('/a').write('data: 1\n\n');
      await nextTick();
      stream('/a').write('data: 2\n\n');
      stream('/a').finish('');
    });
    expect(bodyOf(response)).toBe(`data: 1\n\ndata: 2\n\n${DONE}`);
  });

  it('is drained once a client that stopped reading resumes', async () => {
    const piece = `data: ${'x'.repeat(65_536)}\n\n`;
    let written = 0;
    const response = await exchange([get('/a')], async () => {
      for (let full = 0; full < 3;) {
        written += 1;
        if (stream('/a').write(piece)) continue;
        full += 1;
        await stream('/a').drained();
      }
      stream('/a').finish('');
    });
    expect(response.split(piece)).toHaveLength(written + 1);
  });

  it('writes its first four events at once, and events that follow within the merge time together', async () => {
    const response = await exchange([get('/merged')], () => {
      begin('/merged');
      stream('/merged').write('data: grüße 😀\n\n');
      stream('/merged').write(Buffer.from('data: bytes ü\n\n'));
      stream('/merged').finish('data: last\n\n');
    });
    const writes = [...FIRST_EVENTS, `data: grüße 😀\n\ndata: bytes ü\n\ndata: last\n\n${DONE}`];
    expect(bodyOf(response)).toBe(`${writes.map(chunk).join('')}0\r\n\r\n`);
  });

  it.each([
    ['when the merge time is over', '/merged-briefly', 'data: second\n\n'],
    ['when they have more than 16 KiB', '/merged', `data: ${'x'.repeat(16 * 1_024)}\n\n`],
  ])('writes events that wait for others %s', async (_when, path, event) => {
    const client = connect((server.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
    client.write(get(path));
    await once(server.server, 'request');
    begin(path);
    stream(path).write(event);
    let received = '';
    // The second round waits for another timer.
    for await (const piece of client as AsyncIterable<string>) {
      received += piece;
      const rounds = received.split(event).length - 1;
      if (rounds === 2) break;
      if (rounds === 1) stream(path).write(event);
    }
    expect(received).not.toContain(DONE);
    stream(path).abandon();
  });

  it('keeps the order when an event comes after the merge time, but before the late timer', async () => {
    const response = await exchange([get('/merged-briefly')], () => {
      begin('/merged-briefly');
      stream('/merged-briefly').write('data: 5\n\n');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 40);
      stream('/merged-briefly').write('data: 6\n\n');
      stream('/merged-briefly').finish('');
    });
    expect(response.match(/data: \S+/g)?.slice(FIRST_EVENTS.length)).toEqual(['data: 5', 'data: 6', 'data: [DONE]']);
  });

  it('signals that the client has not read enough while events wait for others', async () => {
    const piece = `data: ${'x'.repeat(65_536)}\n\n`;
    let isReady: boolean | null = null;
    await exchange([get('/merged')], () => {
      while (stream('/merged').write(piece));
      isReady = stream('/merged').write('data: waits\n\n');
      stream('/merged').finish('');
    });
    expect(isReady).toBe(false);
  });
});
