import { Logger } from '@nestjs/common';
import type { Clock } from '../time/clock';
import { PublicHost } from '../../../test/harness/public-host';
import { ScriptedDns } from '../../../test/harness/scripted-dns';
import { takeAttempts } from '../../../test/harness/socket-watch';
import { GuardedClient, type OutboundOptions } from './guarded-client';

const NAME = 'hooks.example.com';
const OPTIONS: OutboundOptions = { allowCidrs: ['127.0.0.1'], denyCidrs: [], denyHosts: [], nat64: false };
const BODY = Buffer.from('{"event":"job.completed","text":"\u{e9}"}');

Logger.overrideLogger(false);
let host: PublicHost;
beforeAll(async () => {
  host = await PublicHost.start([NAME]);
});
afterAll(() => host.stop());
beforeEach(() => {
  host.seen.length = 0;
});

const client = (options: Partial<OutboundOptions> = {}) =>
  new GuardedClient({ ...OPTIONS, resolve: new ScriptedDns({ [NAME]: [['127.0.0.1']] }).resolve, ...options });
const post = (options: Partial<OutboundOptions> = {}) =>
  client(options).postWebhook(
    host.url('/hook?a=b', NAME),
    { 'content-type': 'application/json', 'x-llm-signature': 'sha256=00' },
    BODY,
  );

it('is delivered once, with the exact bytes', async () => {
  host.answer = (response) => response.writeHead(204).end();
  expect(await post()).toEqual({ status: 204, retryAfterSeconds: null });
  expect(host.seen).toEqual([
    {
      method: 'POST',
      url: '/hook?a=b',
      body: BODY.toString(),
      headers: {
        host: `${NAME}:${host.port}`,
        connection: 'close',
        'content-type': 'application/json',
        'content-length': String(BODY.length),
        'x-llm-signature': 'sha256=00',
        'accept-encoding': 'identity',
        'user-agent': 'inference-gateway/1',
      },
    },
  ]);
});

it.each([301, 302, 303, 307, 308])('returns redirect status %s without following it', async (status) => {
  host.answer = (response) => response.writeHead(status, { location: host.url('/other', NAME) }).end();
  takeAttempts();
  expect(await post()).toEqual({ status, retryAfterSeconds: null });
  expect(host.seen.map(({ url }) => url)).toEqual(['/hook?a=b']);
  expect(takeAttempts()).toHaveLength(1);
});

it.each([
  ['120', 120],
  ['99999', 3_600],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60],
  ['soon', null],
])('reads Retry-After: %s', async (header, seconds) => {
  const clock: Clock = { now: () => Date.UTC(2026, 0, 1), monotonic: () => 0 };
  host.answer = (response) => response.writeHead(503, { 'retry-after': header }).end();
  expect(await post({ clock })).toEqual({ status: 503, retryAfterSeconds: seconds });
});

it('closes the connection after 4 KiB of the response, and returns its status', async () => {
  let written = 0;
  const closed = Promise.withResolvers<void>();
  host.answer = (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
    };
    response.on('drain', more).on('close', () => closed.resolve());
    more();
  };
  expect((await post()).status).toBe(200);
  await closed.promise;
  expect(written).toBeLessThan(16 * 1024 * 1024);
});

it('stops waiting for the rest of a response at the timeout', async () => {
  const closed = Promise.withResolvers<void>();
  host.answer = (response) =>
    response
      .on('close', () => closed.resolve())
      .writeHead(202)
      .write('a');
  expect((await post({ limits: { webhookMs: 4_000 } })).status).toBe(202);
  await closed.promise;
});

it.each<[string, (host: PublicHost) => Promise<unknown>]>([
  [
    'a silent receiver',
    (silent) => {
      silent.answer = () => undefined;
      return post({ limits: { webhookMs: 300 } });
    },
  ],
  [
    'a receiver that disconnects',
    (rude) => {
      rude.answer = (response) => response.destroy();
      return post();
    },
  ],
  ['a closed port', () => client({ allowCidrs: ['127.0.0.0/30'] }).postWebhook('https://127.0.0.3:9999/', {}, BODY)],
  ['a name that does not exist', () => client().postWebhook('https://none.example.com/', {}, BODY)],
  [
    'a certificate of another host',
    () => client({ resolve: async () => ['127.0.0.1'] }).postWebhook(host.url('/', 'other.example.com'), {}, BODY),
  ],
])('reveals no details of %s', async (_case, act) => {
  const error = await act(host).then(
    () => null,
    (reason: Error) => `${reason.name} ${reason.message}`,
  );
  expect(error).toBe('OutboundError The address could not be fetched.');
  // The connection attempt to the closed port is intended.
  takeAttempts();
});

describe('at submission', () => {
  const submit = (url: string, options: Partial<OutboundOptions> = {}) =>
    client(options).assertPublicHost(url, 'webhook_url');

  it.each<[string, Partial<OutboundOptions>]>([
    ['does not exist', {}],
    ['has no working name server', { resolve: () => Promise.reject(new Error('SERVFAIL')) }],
    ['has a silent one', { resolve: () => new Promise(() => undefined), limits: { lookupMs: 5 } }],
  ])('accepts a name that %s: nothing is fetched now', async (_case, options) => {
    await expect(submit('https://none.example.com/', options)).resolves.toBeUndefined();
  });

  it.each([
    ['https://10.0.0.1/', 'ssrf_blocked'],
    ['https://hooks.internal/', 'ssrf_blocked'],
    ['http://hooks.example.com/', 'validation_failed'],
    ['https://inner.example.com/', 'ssrf_blocked'],
  ])('refuses %s as %s', async (url, code) => {
    const { resolve } = new ScriptedDns({ 'inner.example.com': [['8.8.8.8', '192.168.0.1']] });
    await expect(submit(url, { resolve })).rejects.toMatchObject({ code, param: 'webhook_url' });
  });
});
