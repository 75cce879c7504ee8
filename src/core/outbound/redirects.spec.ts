import { Logger } from '@nestjs/common';
import { PIXEL, PublicHost, respondWith } from '../../../test/harness/public-host';
import { ScriptedDns } from '../../../test/harness/scripted-dns';
import { takeAttempts } from '../../../test/harness/socket-watch';
import { GuardedClient, type OutboundOptions } from './guarded-client';

const NAME = 'images.example.com';
const OPTIONS: OutboundOptions = { allowCidrs: ['127.0.0.1'], denyCidrs: [], denyHosts: [], nat64: false };
const NOT_FETCHED = { code: 'validation_failed', param: 'image_url', message: 'image_url could not be fetched.' };
const BLOCKED = {
  code: 'ssrf_blocked',
  param: 'image_url',
  message: 'image_url points to a private or blocked address.',
};

Logger.overrideLogger(false);
let host: PublicHost;
beforeAll(async () => {
  host = await PublicHost.start([NAME]);
});
afterAll(() => host.stop());
beforeEach(() => {
  host.seen.length = 0;
});

const fetched = (options: Partial<OutboundOptions> = {}, path = '/a.png') => {
  const { resolve } = new ScriptedDns({ [NAME]: [['127.0.0.1']] });
  const client = new GuardedClient({ ...OPTIONS, resolve, ...options });
  return client.fetchImage(host.url(path, NAME), 'image_url', new AbortController().signal);
};

const redirect = (to: (path: string) => string | undefined, status = 302) => {
  host.answer = (response, { url }) => {
    const location = to(url);
    if (location === undefined) respondWith(response, PIXEL);
    else response.writeHead(status, { location }).end();
  };
};

it.each([301, 302, 303, 307, 308])('redirects are followed: %s', async (status) => {
  redirect((path) => (path === '/0' ? '/1' : undefined), status);
  expect((await fetched({}, '/0')).bytes).toEqual(PIXEL);
  expect(host.seen.map(({ url }) => url)).toEqual(['/0', '/1']);
});

it('redirects are followed at most three times', async () => {
  redirect((path) => (path === '/3' ? undefined : `/${Number(path.slice(1)) + 1}`));
  expect((await fetched({}, '/0')).bytes).toEqual(PIXEL);
  host.seen.length = 0;
  redirect((path) => `/${Number(path.slice(1)) + 1}`);
  await expect(fetched({}, '/0')).rejects.toMatchObject(NOT_FETCHED);
  expect(host.seen.map(({ url }) => url)).toEqual(['/0', '/1', '/2', '/3']);
});

it.each([
  'https://127.0.0.2/',
  'https://0x7f000002/',
  'https://169.254.169.254/latest/meta-data',
  'https://[::1]/',
  'https://localhost/',
  '//10.0.0.1/a.png',
  'http://10.0.0.1/a.png',
  'https://a:b@10.0.0.1/',
  'https://redis.svc/',
  'https://example.com:22/',
  'ftp://10.0.0.1/a.png',
])('redirects to %s are blocked without a request', async (location) => {
  redirect(() => location);
  takeAttempts();
  await expect(fetched()).rejects.toMatchObject(BLOCKED);
  expect(takeAttempts()).toEqual([{ address: '127.0.0.1', port: host.port }]);
});

it.each(['https', 'http', 'ftp'])('redirects by %s to a name with a private address are blocked', async (scheme) => {
  redirect(() => `${scheme}://inner.example.com/`);
  const { resolve } = new ScriptedDns({ [NAME]: [['127.0.0.1']], 'inner.example.com': [['10.0.0.1']] });
  takeAttempts();
  await expect(fetched({ resolve })).rejects.toMatchObject(BLOCKED);
  expect(takeAttempts()).toHaveLength(1);
});

it('redirects to a private address are blocked even after the last followed redirect', async () => {
  redirect((path) => (path === '/3' ? 'https://10.0.0.1/' : `/${Number(path.slice(1)) + 1}`));
  await expect(fetched({}, '/0')).rejects.toMatchObject(BLOCKED);
});

it('redirects resolve the same name again, and are blocked when its address is now private', async () => {
  redirect((path) => (path === '/1' ? undefined : '/1'));
  const moving = new ScriptedDns({ [NAME]: [['127.0.0.1'], ['127.0.0.2']] });
  takeAttempts();
  await expect(fetched({ resolve: moving.resolve })).rejects.toMatchObject(BLOCKED);
  expect(moving.asked).toEqual([NAME, NAME]);
  expect(takeAttempts()).toEqual([{ address: '127.0.0.1', port: host.port }]);
});

it.each([
  ['plain http', () => `http://${NAME}/a.png`],
  ['another scheme', () => 'ftp://example.com/'],
  ['nowhere', () => 'https://'],
  ['themselves', () => '/a.png'],
  ['a very long address', () => `/${'a'.repeat(3_000)}`],
])('redirects to %s fail', async (_case, to) => {
  redirect(to);
  await expect(fetched()).rejects.toMatchObject(NOT_FETCHED);
});

it('redirects without a Location fail', async () => {
  host.answer = (response) => response.writeHead(302).end();
  await expect(fetched()).rejects.toMatchObject(NOT_FETCHED);
});
