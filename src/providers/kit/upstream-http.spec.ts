import dns from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { FakeUpstream } from '../../../test/conformance/fake-upstream';
import { providerCall, providerErrorOf } from '../../../test/conformance/provider-call';
import { DistantHost } from '../../../test/harness/distant-host';
import { parseBaseUrl, UpstreamHttp } from './upstream-http';

const MEBIBYTE = 1024 * 1024;
const deadlines = { connectMs: 60_000, firstTokenMs: 1_000, idleMs: 1_000, totalMs: 60_000 };

describe('UpstreamHttp', () => {
  let upstream: FakeUpstream;
  let http: UpstreamHttp;
  const post = (call = providerCall()) => http.post('/v1/x', '{"a":1}', call);

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp({ baseUrl: new URL(upstream.origin), headers: { authorization: 'Bearer key' } });
  });

  afterEach(async () => {
    await http.close();
    await upstream.stop();
  });

  it('posts to the configured URL and returns the body', async () => {
    upstream.answer = (response) => response.end('{"ok":true}');
    expect((await post()).toString()).toBe('{"ok":true}');
    expect(upstream.received).toMatchObject([
      {
        url: '/v1/x',
        body: '{"a":1}',
        headers: { authorization: 'Bearer key', 'accept-encoding': 'identity', 'content-type': 'application/json' },
      },
    ]);
  });

  it('reads and deletes without a body, and returns status and headers where they matter', async () => {
    upstream.answer = (response) => response.writeHead(202, { 'x-units': '1.5' }).end('{}');
    await http.get('/v1/x', providerCall());
    await http.delete('/v1/x', providerCall());
    const settings = { body: '{}', headers: { prefer: 'wait=5' } };
    const reply = await http.request('PUT', '/v1/x', providerCall(), settings);
    expect([reply.status, reply.headers['x-units'], reply.body.toString()]).toEqual([202, '1.5', '{}']);
    const seen = upstream.received.map(({ method, body, headers }) => [
      method,
      body,
      headers['content-type'],
      headers['authorization'],
      headers['prefer'],
    ]);
    expect(seen).toEqual([
      ['GET', '', undefined, 'Bearer key', undefined],
      ['DELETE', '', undefined, 'Bearer key', undefined],
      ['PUT', '{}', 'application/json', 'Bearer key', 'wait=5'],
    ]);
  });

  it('continues the trace with every method, and records the server', async () => {
    upstream.answer = (response) => response.end('{}');
    const servers: string[] = [];
    const trace = {
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      noteServer: ({ origin }: URL) => servers.push(origin),
      noteModel: () => undefined,
    };
    const call = providerCall({ trace });
    await post(call);
    await http.get('/v1/x', call);
    await http.delete('/v1/x', call);
    expect(upstream.received.map(({ headers }) => headers['traceparent'])).toEqual(Array(3).fill(trace.traceparent));
    expect(servers).toEqual(Array(3).fill(upstream.origin));
  });

  it('accepts the addresses of the upstream only, since requests carry the credential', () => {
    expect(http.endpointAt(`${upstream.origin}/r/1?x=2`)).toBe('/r/1?x=2');
    for (const other of ['https://evil.example/r/1', `${upstream.origin}.evil.example/`, '/r/1', '']) {
      expect(http.endpointAt(other)).toBeNull();
    }
  });

  it.each([
    ['https://host/v1', '/v1/chat/completions'],
    ['https://host/v1/', '/v1/chat/completions'],
    ['https://host', '/chat/completions'],
    ['https://host/deep/prefix?api-version=1', '/deep/prefix/chat/completions?api-version=1'],
  ])('keeps the prefix and the query of %s', async (baseUrl, expected) => {
    const other = new UpstreamHttp({ baseUrl: new URL(baseUrl) });
    expect(other.endpoint('chat/completions')).toBe(expected);
    await other.close();
  });

  it('reuses a connection', async () => {
    await post();
    // undici returns the connection to the pool one iteration of the event loop after the reply.
    await new Promise(setImmediate);
    await post();
    expect(upstream.connections).toBe(1);
  });

  it.each([
    ['application/json', 'refused'],
    ['Application/JSON; charset=utf-8', 'refused'],
    ['application/jsonl', 'streamed'],
    ['application/json-seq', 'streamed'],
    ['text/event-stream', 'streamed'],
  ])('takes one JSON document, not lines of JSON, for a refusal of a stream: %s is %s', async (type, outcome) => {
    upstream.answer = (response) => response.writeHead(200, { 'content-type': type }).end('{"a":1}\n');
    const received = await new Promise((resolve) => {
      http.postForStream('/v1/x', '{}', providerCall(), {
        onData: () => undefined,
        onEnd: () => resolve('streamed'),
        onFailure: () => resolve('refused'),
      });
    });
    expect(received).toBe(outcome);
  });

  it('follows no redirect', async () => {
    upstream.answer = (response) => response.writeHead(307, { location: `${upstream.origin}/other` }).end();
    expect((await providerErrorOf(post())).code).toBe('provider_error');
    expect(upstream.received).toHaveLength(1);
  });

  it('maps an error status with its body and headers', async () => {
    upstream.answer = (response) =>
      response.writeHead(429, { 'retry-after': '7' }).end('{"error":{"code":"rate_limit_exceeded"}}');
    const error = await providerErrorOf(post());
    expect([error.code, error.options.retryAfterSeconds, error.options.upstream?.code]).toEqual([
      'provider_rate_limited',
      7,
      'rate_limit_exceeded',
    ]);
  });

  it('reads only the beginning of an endless error page', async () => {
    const disconnected = upstream.nextDisconnect();
    upstream.answer = (response) => void response.writeHead(500).write('x'.repeat(MEBIBYTE));
    expect((await providerErrorOf(post())).code).toBe('provider_unavailable');
    await disconnected;
  });

  it('reports phase connect when the connection is refused', async () => {
    const closed = new UpstreamHttp({ baseUrl: new URL('http://127.0.0.1:9') });
    const error = await providerErrorOf(closed.post('/x', '{}', providerCall()));
    expect(error.code).toBe('provider_unavailable');
    expect(error.options).toMatchObject({ phase: 'connect', fallback: true, retrySame: true });
    await closed.close();
  });

  it('limits the time for a connection, TLS included', async () => {
    const accepted: Socket[] = [];
    const silent = createServer((socket) => void accepted.push(socket));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const secure = new UpstreamHttp({
      baseUrl: new URL(`https://127.0.0.1:${(silent.address() as AddressInfo).port}`),
    });
    const call = providerCall({ deadlines: { ...deadlines, connectMs: 50 } });
    const error = await providerErrorOf(secure.post('/x', '{}', call));
    expect([error.code, error.options.phase]).toEqual(['provider_unavailable', 'connect']);
    await secure.close();
    for (const socket of accepted) socket.destroy();
    silent.close();
  });

  it('waits for a provider that takes a second to connect, although its other address is unreachable', async () => {
    upstream.answer = (response) => response.end('{"ok":true}');
    const distant = await DistantHost.before(Number(new URL(upstream.origin).port));
    // Like a provider with an IPv6 address and a gateway without IPv6: only the first address can connect.
    const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
    const lookup = jest.spyOn(dns, 'lookup').mockImplementation(((_name, _options, callback) => {
      process.nextTick(callback, null, addresses);
      // The first packet to the host is lost.
      setImmediate(() => distant.comeNearer());
    }) as typeof dns.lookup);
    const far = new UpstreamHttp({
      baseUrl: new URL(`http://provider.example.com:${distant.port}`),
      // On a busy machine the time limit of an address can expire while nothing runs.
      addressTimeoutMs: 30_000,
    });
    try {
      const reply = await far.post(
        '/x',
        '{}',
        providerCall({ deadlines: { ...deadlines, connectMs: 60_000, firstTokenMs: 60_000 } }),
      );
      expect(reply.toString()).toBe('{"ok":true}');
    } finally {
      await far.close();
      lookup.mockRestore();
      await distant.stop();
    }
  });

  it('maps a reset before the headers', async () => {
    upstream.answer = (response) => response.socket?.resetAndDestroy();
    const error = await providerErrorOf(post());
    expect(error.code).toBe('provider_unavailable');
    expect(error.options).toMatchObject({ phase: 'headers', fallback: true });
    expect(error.options.retrySame).toBeUndefined();
  });

  it('maps a response that is not HTTP', async () => {
    upstream.answer = (response) => response.socket?.end('garbage\r\n\r\n');
    expect((await providerErrorOf(post())).code).toBe('provider_error');
  });

  it.each([
    ['before the headers', () => undefined, 'headers'],
    ['in the body', (response: { write(text: string): boolean }) => void response.write('{"a":'), 'first_token'],
  ])('ends a call that hangs %s, closing the connection', async (_name, answer, phase) => {
    const disconnected = upstream.nextDisconnect();
    upstream.answer = answer;
    const error = await providerErrorOf(post(providerCall({ deadlines })));
    expect([error.code, error.options.phase, error.options.fallback]).toEqual(['provider_timeout', phase, true]);
    await disconnected;
  });

  it('maps a truncated body', async () => {
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"a":', () => response.destroy());
    };
    const error = await providerErrorOf(post());
    expect([error.code, error.options.phase]).toEqual(['provider_disconnect', 'first_token']);
  });

  it('cuts a 200 MiB body at 32 MiB', async () => {
    const disconnected = upstream.nextDisconnect();
    let sent = 0;
    upstream.answer = (response) => {
      const piece = Buffer.alloc(MEBIBYTE, ' ');
      const writeMore = (): void => {
        while (sent < 200 && !response.destroyed) {
          sent++;
          if (!response.write(piece)) return void response.once('drain', writeMore);
        }
      };
      writeMore();
    };
    expect((await providerErrorOf(post())).code).toBe('provider_error');
    await disconnected;
    expect(sent).toBeLessThan(60);
  });

  it('refuses a compressed body without unpacking it', async () => {
    upstream.answer = (response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(10 * MEBIBYTE)));
    expect((await providerErrorOf(post())).code).toBe('provider_error');
  });

  it.each([
    ['before the headers', () => undefined],
    ['in the body', (response: { write(text: string): boolean }) => void response.write('{"a":')],
  ])('closes the upstream connection when the call is aborted %s', async (_name, answer) => {
    const abort = new AbortController();
    const disconnected = upstream.nextDisconnect();
    const arrived = new Promise<void>((resolve) => {
      upstream.answer = (response) => {
        answer(response);
        resolve();
      };
    });
    const call = post(providerCall({ signal: abort.signal }));
    const failed = providerErrorOf(call);
    await arrived;
    abort.abort();
    await failed;
    await expect(disconnected).resolves.toBeUndefined();
  });

  it('does not send a call that was aborted before', async () => {
    await providerErrorOf(post(providerCall({ signal: AbortSignal.abort() })));
    await post();
    expect(upstream.received).toHaveLength(1);
  });

  it('leaves no listener on a signal that outlives the call', async () => {
    const { signal } = new AbortController();
    const add = jest.spyOn(signal, 'addEventListener');
    const remove = jest.spyOn(signal, 'removeEventListener');
    await post(providerCall({ signal }));
    expect(add).toHaveBeenCalledTimes(1);
    expect(remove).toHaveBeenCalledTimes(1);
  });
});

describe('parseBaseUrl', () => {
  it.each(['https://api.example.com/v1', 'http://localhost:11434/v1/'])('accepts %s', (value) => {
    expect(parseBaseUrl(value, 'X_BASE_URL').href).toBe(value);
  });

  it.each(['', 'api.example.com', '/v1', 'ftp://host/', 'https://user:secret@host/'])(
    'refuses %j, naming the variable and not the value',
    (value) => {
      expect(() => parseBaseUrl(value, 'X_BASE_URL')).toThrow(/^X_BASE_URL (?!.*secret)/);
    },
  );
});
