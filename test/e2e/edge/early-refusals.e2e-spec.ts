import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { DrainService } from '../../../src/http/availability';
import { until } from '../../faults/figures';
import { endChildren } from '../../harness/child-process';
import { TestGateway } from '../../harness/gateway';
import { NGINX_IS_INSTALLED, type RunningNginx, startNginx } from '../../harness/nginx';
import { exchange, type RawReply, sendThenRead } from '../../harness/raw-http';

const PATH = '/v1/chat/completions';
const CHAT = { model: 'mock/chat-1', messages: [{ role: 'user', content: 'hi' }] };
const MIB = 1024 * 1024;
const ATTEMPTS = 30;
const AT_ONCE = 3;
/** Small enough that a busy machine can send the body within the five seconds of an early refusal. */
const MAX_REQUEST_BYTES = 4 * MIB;

let gateway: TestGateway;
let port: number;
let key: string;
let limitedKey: string;

beforeAll(async () => {
  gateway = await TestGateway.start({ MAX_REQUEST_BYTES: String(MAX_REQUEST_BYTES) });
  port = Number(new URL(gateway.url).port);
  ({ key } = await gateway.customer());
});
afterAll(async () => {
  await endChildren();
  await gateway.stop();
});

interface Refusal {
  readonly answer: string;
  readonly bodyBytes: number;
  key(): string;
}

const TOO_LARGE: Refusal = { answer: '413 request_too_large', bodyBytes: MAX_REQUEST_BYTES + MIB, key: () => key };
const TOO_FAST: Refusal = { answer: '429 rate_limited', bodyBytes: MAX_REQUEST_BYTES, key: () => limitedKey };
/** The gateway reads 1 MiB from callers without a valid key. */
const UNKNOWN_KEY: Refusal = { answer: '401 invalid_api_key', bodyBytes: MIB, key: () => 'sk-llm-unknown' };

function head(requestKey: string, bodyBytes: number, version: string, ...headers: string[]): string {
  const lines = [
    `POST ${PATH} HTTP/${version}`,
    'Host: gateway',
    `Authorization: Bearer ${requestKey}`,
    'Content-Type: application/json',
    `Content-Length: ${bodyBytes}`,
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

type Send = (toPort: number, request: Buffer) => Promise<RawReply>;

/** After this, requests of the key are refused for a minute before their bodies are read. */
async function exceedLimit(): Promise<void> {
  ({ key: limitedKey } = await gateway.customer({ requestsPerMinute: 1 }));
  while ((await gateway.call(PATH, { key: limitedKey, body: CHAT })).status !== 429);
}

/** How often each response reached a client that sends a large body; status 0 is a connection without a response. */
async function answersOf(refusal: Refusal, version: string, toPort: number, send: Send): Promise<object> {
  if (refusal === TOO_FAST) await exceedLimit();
  // A valid body, because a process that has forgotten the refusal reads the body before it refuses again.
  const body = JSON.stringify(CHAT).padEnd(refusal.bodyBytes);
  const request = Buffer.from(head(refusal.key(), refusal.bodyBytes, version, 'Connection: close') + body);
  const counts: Record<string, number> = {};
  const sendInTurn = async (): Promise<void> => {
    for (let index = 0; index < ATTEMPTS / AT_ONCE; index++) {
      const { status, body } = await send(toPort, request);
      const answer = body.startsWith('{') ? `${status} ${JSON.parse(body).error.code}` : String(status);
      counts[answer] = (counts[answer] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendInTurn));
  return counts;
}

describe.each(['1.0', '1.1'])('a refusal over HTTP/%s on a connection that closes', (version) => {
  it.each([UNKNOWN_KEY, TOO_LARGE, TOO_FAST])('$answer reaches a client that sends its body first', async (refusal) => {
    expect(await answersOf(refusal, version, port, sendThenRead)).toEqual({ [refusal.answer]: ATTEMPTS });
  });
});

(NGINX_IS_INSTALLED ? describe : describe.skip).each([
  ['that buffers requests', true],
  ['that streams requests', false],
])('a refusal behind an nginx %s', (_what, requestBuffering) => {
  let nginx: RunningNginx;
  beforeAll(async () => {
    nginx = await startNginx(gateway.url, requestBuffering);
  });
  afterAll(() => nginx.stop());

  it.each([{ ...UNKNOWN_KEY, bodyBytes: MAX_REQUEST_BYTES }, TOO_LARGE, TOO_FAST])(
    '$answer reaches the client',
    async (refusal) => {
      expect(await answersOf(refusal, '1.1', nginx.port, exchange)).toEqual({ [refusal.answer]: ATTEMPTS });
    },
  );
});

it('answers a wrong key with 401 before a byte of its 10 MiB body is read', async () => {
  const server: Server = gateway.app.getHttpServer();
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const sentHead = head('sk-llm-unknown', 10 * MIB, '1.1', 'Expect: 100-continue');
  const client = connect({ port, host: '127.0.0.1' }, () => client.write(sentHead));
  const [answer] = (await once(client, 'data')) as [Buffer];
  const [connection] = await accepted;
  expect(answer.toString('latin1')).toMatch(/^HTTP\/1\.1 401 /);
  expect(connection.bytesRead).toBe(sentHead.length);
  client.destroy();
});

describe('a connection that stays open after an early refusal', () => {
  const HALF = Buffer.alloc(256 * 1024, 0x20);
  const clients: Socket[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
  });

  /** Sends a request with half of its body. Resolves when it is refused. */
  async function sendHalf(sentHead: string, status: number): Promise<Socket> {
    const client = connect({ port, host: '127.0.0.1' }).setEncoding('latin1');
    clients.push(client);
    client.write(sentHead);
    client.write(HALF);
    const [answer] = (await once(client, 'data')) as [string];
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).not.toMatch(/\r\nconnection: close\r\n/i);
    return client;
  }

  it.each([
    ['no byte of the body was read', () => head('sk-llm-unknown', 2 * HALF.length, '1.1'), 401],
    [
      'a part of the body was read',
      () =>
        head(key, 2 * HALF.length, '1.1')
          .replace(PATH, '/v1/images/edits')
          .replace('application/json', 'multipart/form-data; boundary=b0undary'),
      400,
    ],
  ])('serves the next request when %s', async (_when, sentHead, status) => {
    const client = await sendHalf(sentHead(), status);
    client.write(HALF);
    client.write(`GET /v1/models HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    const [answer] = (await once(client, 'data')) as [string];
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('is announced to a client of HTTP/1.0', async () => {
    const { status, headers } = await exchange(port, `${head('sk-llm-unknown', 2, '1.0', 'Connection: keep-alive')}{}`);
    expect(status).toBe(401);
    expect(headers).toMatch(/\r\nconnection: keep-alive(?:\r\n|$)/i);
  });

  it('is closed when the rest of the body does not arrive in two seconds', async () => {
    const client = await sendHalf(head('sk-llm-unknown', 2 * HALF.length, '1.1'), 401);
    const refusedAtMs = performance.now();
    await once(
      client.on('error', () => undefined),
      'close',
    );
    expect(performance.now() - refusedAtMs).toBeGreaterThan(1_900);
    expect(performance.now() - refusedAtMs).toBeLessThan(20_000);
  });
});

it('reads at most 32 MiB of a refused form while the response waits for an earlier one', async () => {
  const server: Server = gateway.app.getHttpServer();
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
  const chat = JSON.stringify({ ...CHAT, messages: [{ role: 'user', content: '[[mock: first_token=3s]]' }] });
  const form = head(key, 0, '1.1', 'Connection: close')
    .replace(PATH, '/v1/images/edits')
    .replace('application/json', 'multipart/form-data; boundary=b0undary')
    .replace('Content-Length: 0', 'Transfer-Encoding: chunked');
  client.write(head(key, chat.length, '1.1') + chat + form);
  const piece = Buffer.from(`10000\r\n${' '.repeat(64 * 1024)}\r\n`);
  const send = (): void => {
    while (client.bytesWritten < 128 * MIB && client.write(piece));
  };
  client.on('drain', send);
  send();
  const [answer] = (await once(client, 'data')) as [Buffer];
  const [{ bytesRead }] = await accepted;
  client.destroy();
  expect(answer.toString('latin1')).toMatch(/^HTTP\/1\.1 200 /);
  expect(bytesRead).toBeGreaterThan(MIB);
  expect(bytesRead).toBeLessThan(34 * MIB);
});

describe('a client without a key that never stops sending', () => {
  const clients: Socket[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
  });

  /** Sends an endless body. Resolves when the server closes the connection after its response. */
  async function sendWithoutEnd(length = `Content-Length: ${2 ** 40}`): Promise<Socket> {
    const server: Server = gateway.app.getHttpServer();
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
    clients.push(client);
    client.write(head('sk-llm-unknown', 0, '1.1').replace('Content-Length: 0', length));
    const piece = Buffer.from(`10000\r\n${' '.repeat(64 * 1024)}\r\n`);
    const send = (): void => {
      while (client.write(piece));
    };
    client.on('drain', send);
    send();
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(answer.toString('latin1')).toMatch(/^HTTP\/1\.1 401 /);
    // A body that is too long to be discarded.
    expect(/\r\nconnection: close\r\n/i.test(answer.toString('latin1'))).toBe(length.startsWith('Content-Length'));
    const [connection] = await accepted;
    return connection;
  }

  it.each([`Content-Length: ${2 ** 40}`, 'Transfer-Encoding: chunked'])(
    'is read for two seconds and 1 MiB, then disconnected (%s)',
    async (length) => {
      const startedAtMs = performance.now();
      const connection = await sendWithoutEnd(length);
      await until('the end of the connection', 5_000, () => connection.destroyed);
      expect(performance.now() - startedAtMs).toBeGreaterThan(1_900);
      expect(connection.bytesRead).toBeGreaterThan(MIB);
      expect(connection.bytesRead).toBeLessThan(2 * MIB);
    },
  );

  it('does not delay a shutdown', async () => {
    const connection = await sendWithoutEnd();
    expect(gateway.app.get(DrainService, { strict: false }).inFlight).toBe(0);
    (gateway.app.getHttpServer() as Server).closeAllConnections();
    expect(connection.destroyed).toBe(true);
  });
});
