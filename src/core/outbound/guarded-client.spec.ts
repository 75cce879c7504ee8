import { gzipSync } from 'node:zlib';
import { Logger } from '@nestjs/common';
import { GatewayError } from '../errors/gateway-error';
import { PIXEL, PublicHost, respondWith } from '../../../test/harness/public-host';
import { ScriptedDns } from '../../../test/harness/scripted-dns';
import { ByteBudget } from './byte-budget';
import { GuardedClient, type OutboundOptions } from './guarded-client';

const NAME = 'images.example.com';
const OPTIONS: OutboundOptions = { allowCidrs: ['127.0.0.1'], denyCidrs: [], denyHosts: [], nat64: false };
const never = new AbortController().signal;

let host: PublicHost;
beforeAll(async () => {
  Logger.overrideLogger(false);
  host = await PublicHost.start([NAME]);
});
afterAll(() => host.stop());
beforeEach(() => {
  host.answer = (response) => respondWith(response, PIXEL);
  host.seen.length = 0;
});

const dns = () => new ScriptedDns({ [NAME]: [['127.0.0.1']] });
const client = (options: Partial<OutboundOptions> = {}) =>
  new GuardedClient({ ...OPTIONS, resolve: dns().resolve, ...options });
const fetched = (options: Partial<OutboundOptions> = {}, path = '/a.png') =>
  client(options).fetchImage(host.url(path, NAME), 'image_url', never);

async function failure(promise: Promise<unknown>): Promise<Pick<GatewayError, 'code' | 'param' | 'message'>> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GatewayError)) throw new Error(`no error of the gateway: ${String(error)}`);
  const { code, param, message } = error;
  return { code, param, message };
}

const NOT_FETCHED = { code: 'validation_failed', param: 'image_url', message: 'image_url could not be fetched.' };
const NO_IMAGE = { ...NOT_FETCHED, message: 'image_url is not a PNG, JPEG, WebP or GIF image.' };
const TOO_LARGE = { ...NOT_FETCHED, message: 'image_url is too large.' };
describe('an image', () => {
  it.each(['127.0.0.1', NAME])('is fetched from %s, with its type from its bytes', async (name) => {
    host.answer = (response) => respondWith(response, PIXEL, 'image/jpeg');
    const image = await client().fetchImage(host.url('/a.png?b=c#d', name), 'image_url', never);
    expect(image).toEqual({ bytes: PIXEL, contentType: 'image/png' });
  });

  it('is requested without headers of the caller, over a connection that is closed afterwards', async () => {
    await fetched();
    expect(host.seen).toEqual([
      {
        method: 'GET',
        url: '/a.png',
        body: '',
        headers: {
          host: `${NAME}:${host.port}`,
          connection: 'close',
          accept: 'image/*',
          'accept-encoding': 'identity',
          'user-agent': 'inference-gateway/1',
        },
      },
    ]);
    const before = host.connections;
    await fetched();
    expect(host.connections).toBe(before + 1);
  });

  it('is fetched without the environment proxies', async () => {
    const names = ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = 'http://127.0.0.1:9';
    try {
      await fetched();
    } finally {
      names.forEach((name, index) => {
        const value = before[index];
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      });
    }
    expect(host.seen).toHaveLength(1);
  });

  it('requires a certificate for its name', async () => {
    const resolve = new ScriptedDns({ 'other.example.com': [['127.0.0.1']] }).resolve;
    const other = client({ resolve }).fetchImage(host.url('/', 'other.example.com'), 'image_url', never);
    expect(await failure(other)).toEqual(NOT_FETCHED);
    expect(host.seen).toEqual([]);
  });

  it.each<[string, string, Buffer, object]>([
    ['a page', 'text/html', PIXEL, NO_IMAGE],
    ['bytes without a type', 'application/octet-stream', PIXEL, NO_IMAGE],
    [
      'a drawing with scripts in it',
      'image/svg+xml',
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      NO_IMAGE,
    ],
    ['a page that calls itself an image', 'image/png', Buffer.from('<html></html>'), NO_IMAGE],
    ['nothing', 'image/png', Buffer.alloc(0), NO_IMAGE],
  ])('is not %s', async (_case, contentType, bytes, expected) => {
    host.answer = (response) => respondWith(response, bytes, contentType);
    expect(await failure(fetched())).toEqual(expected);
  });

  it.each([201, 204, 206, 300, 304, 400, 401, 404, 500, 503])('is refused with status %s', async (status) => {
    host.answer = (response) =>
      response.writeHead(status, { 'content-type': 'image/png' }).end(status === 204 ? '' : PIXEL);
    expect(await failure(fetched())).toEqual(NOT_FETCHED);
  });

  it.each(['gzip', 'br', 'GZIP, identity', 'zstd'])('is refused with Content-Encoding %s', async (encoding) => {
    host.answer = (response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-encoding': encoding });
      response.end(gzipSync(Buffer.alloc(1_000_000)));
    };
    expect(await failure(fetched())).toEqual(NOT_FETCHED);
  });
});

describe('sizes', () => {
  const limits = { imageBytes: 64 * 1024 };
  const image = (bytes: number) => Buffer.concat([PIXEL, Buffer.alloc(bytes - PIXEL.length)]);

  it('accepts an image of exactly the limit, and not one byte more', async () => {
    host.answer = (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(image(limits.imageBytes));
    expect((await fetched({ limits })).bytes).toHaveLength(limits.imageBytes);
    host.answer = (response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(image(limits.imageBytes + 1));
    expect(await failure(fetched({ limits }))).toEqual(TOO_LARGE);
  });

  it('does not read a body whose Content-Length exceeds the limit', async () => {
    let written = 0;
    host.answer = (response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 1e9 }).write(PIXEL);
      written = PIXEL.length;
    };
    expect(await failure(fetched({ limits }))).toEqual(TOO_LARGE);
    expect(written).toBe(PIXEL.length);
  });

  it('stops reading a body without an end', async () => {
    let written = 0;
    const closed = Promise.withResolvers<void>();
    host.answer = (response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
      };
      response.writeHead(200, { 'content-type': 'image/png' });
      response.on('drain', more).on('close', () => closed.resolve());
      more();
    };
    expect(await failure(fetched({ limits }))).toEqual(TOO_LARGE);
    await closed.promise;
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  it.each<[string, number, number | 'refused']>([
    ['refuses a body that is shorter', PIXEL.length + 1, 'refused'],
    ['reads no more of a longer body', PIXEL.length - 20, PIXEL.length - 20],
  ])('%s than its length says', async (_case, contentLength, expected) => {
    host.answer = (response) => {
      const head = `HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: ${contentLength}\r\n\r\n`;
      response.socket?.end(Buffer.concat([Buffer.from(head), PIXEL]));
    };
    const taken = fetched().then(
      ({ bytes }) => bytes.length,
      () => 'refused',
    );
    expect(await taken).toBe(expected);
  });

  it('refuses a head of more than 16 KiB', async () => {
    host.answer = (response) =>
      response.writeHead(200, { 'content-type': 'image/png', 'x-a': 'a'.repeat(17_000) }).end(PIXEL);
    expect(await failure(fetched())).toEqual(NOT_FETCHED);
  });

  it('refuses an endless head', async () => {
    host.answer = (response) => {
      response.socket?.write('HTTP/1.1 200 OK\r\n');
      const more = (): void => {
        while (response.socket?.write(`x-${'a'.repeat(900)}: b\r\n`) === true);
      };
      response.socket?.on('drain', more);
      more();
    };
    expect(await failure(fetched())).toEqual(NOT_FETCHED);
  });

  it('refuses a body in tiny chunks', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ntransfer-encoding: chunked\r\n\r\n';
    const inCrumbs = (count: number): void => {
      host.answer = ({ socket }) => {
        socket?.write(`${head}${PIXEL.length.toString(16)}\r\n`);
        socket?.write(PIXEL);
        socket?.end(`\r\n${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`);
      };
    };
    inCrumbs(4_000);
    expect((await fetched()).bytes.length).toBe(PIXEL.length + 4_000);
    inCrumbs(5_000);
    expect(await failure(fetched())).toEqual(NOT_FETCHED);
  });

  it('counts the images of one request together', async () => {
    const budget = new ByteBudget(2 * PIXEL.length);
    const one = () => client().fetchImage(host.url('/', NAME), 'image_url', never, budget);
    await one();
    await one();
    expect(await failure(one())).toMatchObject({ message: 'image_url is too large together with the others.' });
  });
});

describe('time', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 99999\r\n\r\n';

  it.each<[string, string, string]>([
    ['sends nothing', '', ''],
    ['never ends its head', 'HTTP/1.1 200 OK\r\n', ''],
    ['never ends its body', `${HEAD}abc`, ''],
    ['drips', HEAD, 'a'],
    ['sends interim responses', '', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ])('ends the request to a host that %s', async (_case, beginning, drop) => {
    host.answer = ({ socket }) => {
      socket?.write(beginning);
      const dripping = setInterval(() => socket?.write(drop), 5);
      socket?.on('close', () => clearInterval(dripping));
    };
    expect(await failure(fetched({ limits: { imageMs: 500 } }))).toEqual(NOT_FETCHED);
    await host.idle();
  });

  it('ends a lookup without an answer', async () => {
    const resolve = () => new Promise<readonly string[]>(() => undefined);
    expect(await failure(fetched({ resolve, limits: { lookupMs: 20 } }))).toEqual(NOT_FETCHED);
  });

  it('closes the connection when the caller aborts', async () => {
    const leaving = new AbortController();
    const closed = Promise.withResolvers<void>();
    host.answer = (response) => {
      response.on('close', () => closed.resolve());
      leaving.abort();
    };
    expect(await failure(client().fetchImage(host.url('/', NAME), 'image_url', leaving.signal))).toEqual(NOT_FETCHED);
    await closed.promise;
  });
});
