import { Logger } from '@nestjs/common';
import { buffer } from 'node:stream/consumers';
import { PublicHost } from '../../../test/harness/public-host';
import { GuardedClient, type OutboundOptions } from './guarded-client';

const OPTIONS: OutboundOptions = { allowCidrs: ['127.0.0.1'], denyCidrs: [], denyHosts: [], nat64: false };
const LIMITS = { maxBytes: 100_000, timeoutMs: 60_000 };
const never = new AbortController().signal;

const OTHER_HOST = 'files.example.com';

Logger.overrideLogger(false);
let host: PublicHost;
beforeAll(async () => {
  host = await PublicHost.start([OTHER_HOST]);
});
afterAll(() => host.stop());

const fetchArtifact = (limits = LIMITS, signal = never, path = '/a') =>
  new GuardedClient(OPTIONS).fetchArtifact(host.url(path), limits, signal);
const answers = (...pieces: Buffer[]): void => {
  host.answer = (response) => {
    response.writeHead(200, { 'content-type': 'video/mp4' });
    for (const piece of pieces) response.write(piece);
    response.end();
  };
};

it('is streamed with the content type of its host', async () => {
  answers(Buffer.alloc(60_000, 1), Buffer.alloc(40_000, 2));
  const { body, contentType } = await fetchArtifact();
  expect(contentType).toBe('video/mp4');
  expect(await buffer(body)).toEqual(Buffer.concat([Buffer.alloc(60_000, 1), Buffer.alloc(40_000, 2)]));
});

it('is aborted at the first byte over the limit', async () => {
  answers(Buffer.alloc(LIMITS.maxBytes), Buffer.alloc(1));
  const { body } = await fetchArtifact();
  await expect(buffer(body)).rejects.toMatchObject({ fault: 'too-large' });
});

it('is refused when its Content-Length exceeds the limit', async () => {
  host.answer = (response) => response.writeHead(200, { 'content-length': LIMITS.maxBytes + 1 }).flushHeaders();
  await expect(fetchArtifact()).rejects.toMatchObject({ fault: 'too-large' });
});

it('is aborted on timeout and on abort, also mid-stream', async () => {
  const leaving = new AbortController();
  host.answer = (response) => response.writeHead(200).write('a');
  const late = await fetchArtifact({ ...LIMITS, timeoutMs: 4_000 });
  const left = await fetchArtifact(LIMITS, leaving.signal);
  const ends = [late, left].map(({ body }) => expect(buffer(body)).rejects.toMatchObject({ fault: 'failed' }));
  leaving.abort();
  await Promise.all(ends);
});

it('does not crash the process when it fails before it is read, and then fails the reader', async () => {
  host.answer = (response) => {
    response.writeHead(200, { 'content-length': 1_000 }).write('a');
    response.socket?.end();
  };
  const { body } = await fetchArtifact();
  while (!body.destroyed) await new Promise((resolve) => setImmediate(resolve));
  await expect(buffer(body)).rejects.toMatchObject({ fault: 'failed' });
});

it('fails when its host disconnects', async () => {
  host.answer = (response) => {
    response.writeHead(200, { 'content-length': 1_000 }).write('a');
    response.socket?.end();
  };
  const { body } = await fetchArtifact();
  await expect(buffer(body)).rejects.toMatchObject({
    name: 'OutboundError',
    message: 'The address could not be fetched.',
  });
});

it.each([true, false])('closes its connection when it is discarded: begun=%s', async (begun) => {
  const closed = Promise.withResolvers<string>();
  host.answer = (response) =>
    response
      .on('close', () => closed.resolve('closed'))
      .writeHead(200)
      .write(Buffer.alloc(10_000));
  const { body } = await fetchArtifact({ ...LIMITS, timeoutMs: 600_000 });
  if (begun) await new Promise((resolve) => body.once('data', resolve));
  body.destroy();
  expect(await closed.promise).toBe('closed');
});

it('applies the same rules to redirects', async () => {
  host.answer = (response, { url }) =>
    url === '/0' ? response.writeHead(302, { location: '/1' }).end() : response.writeHead(200).end('found');
  expect(String(await buffer((await fetchArtifact(LIMITS, never, '/0')).body))).toBe('found');
  host.answer = (response) => response.writeHead(302, { location: 'https://127.0.0.2/' }).end();
  await expect(fetchArtifact()).rejects.toMatchObject({ fault: 'blocked' });
});

it('is fetched with the credential from its hosts only, and never after a redirect to another host', async () => {
  const seen: string[] = [];
  const redirects: Record<string, string> = {
    '/0': '/1',
    '/1': host.url('/2', OTHER_HOST),
    '/2': host.url('/3'),
  };
  host.answer = (response, { url, headers }) => {
    seen.push(`${url} ${headers.authorization}`);
    const location = redirects[url];
    if (location === undefined) response.end('found');
    else response.writeHead(302, { location }).end();
  };
  const credential = { hosts: [new URL(host.url('/')).host], headers: { authorization: 'Bearer of-ours' } };
  const client = new GuardedClient({ ...OPTIONS, resolve: () => Promise.resolve(['127.0.0.1']) });
  const { body } = await client.fetchArtifact(host.url('/0'), LIMITS, never, credential);
  expect(String(await buffer(body))).toBe('found');
  expect(seen).toEqual(['/0 Bearer of-ours', '/1 Bearer of-ours', '/2 undefined', '/3 undefined']);
});

it('is fetched from a host whose certificate authority became trusted later, and refused once trust has ended', async () => {
  answers(Buffer.of(1));
  await buffer((await fetchArtifact()).body);
  const later = await PublicHost.start();
  try {
    const fetchLater = () => new GuardedClient(OPTIONS).fetchArtifact(later.url('/'), LIMITS, never);
    expect((await buffer((await fetchLater()).body)).length).toBeGreaterThan(0);
    later.distrust();
    await expect(fetchLater()).rejects.toMatchObject({ fault: 'failed' });
  } finally {
    await later.stop();
  }
});
