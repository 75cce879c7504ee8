import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { StoredObjects } from '../../../src/core/storage/stored-objects';
import { TestGateway } from '../../harness/gateway';

/** Objects in the gateway's storage, served from signed URLs. */
const BYTES = Buffer.from('0123456789');

let gateway: TestGateway;
let objects: StoredObjects;
/** Path and query of an image with {@link BYTES}. */
let path: string;
beforeAll(async () => {
  gateway = await TestGateway.start({ STORAGE: 'local' });
  objects = gateway.app.get(StoredObjects, { strict: false });
  path = await storedAt(BYTES);
});
afterAll(() => gateway.stop());

async function storedAt(body: Buffer, contentType = 'image/png'): Promise<string> {
  const owner = { kind: 'image', organizationId: randomUUID(), id: randomUUID() } as const;
  const { key } = await objects.store({ ...owner, index: 0, contentType, body });
  const { url } = await objects.sign(key);
  expect(url.startsWith(`${gateway.url}/v1/objects/image/`)).toBe(true);
  return url.slice(gateway.url.length);
}

describe('a signed URL', () => {
  it('serves the object to any caller, as a download that no browser executes', async () => {
    const reply = await gateway.call(path);
    expect(reply.status).toBe(200);
    expect(reply.bytes).toEqual(BYTES);
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': '10',
      'content-disposition': 'attachment; filename="image-1.png"',
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': expect.stringMatching(/^private, max-age=3(?:600|59\d)$/),
      'accept-ranges': 'bytes',
      etag: expect.stringMatching(/^".+"$/),
    });
  });

  it('never serves an unknown type as one that a browser renders', async () => {
    const reply = await gateway.call(await storedAt(Buffer.from('<script>alert(1)</script>'), 'text/html'));
    expect(reply.headers.get('content-type')).toBe('application/octet-stream');
    expect(reply.headers.get('content-disposition')).toBe('attachment; filename="image-1.bin"');
  });

  it('accepts encoded slashes in the object key', async () => {
    const [route = '', query = ''] = path.slice('/v1/objects/'.length).split('?');
    const reply = await gateway.call(`/v1/objects/${encodeURIComponent(route)}?${query}`);
    expect(reply.bytes).toEqual(BYTES);
  });

  it('answers HEAD with the same headers and no body', async () => {
    const [got, head] = await Promise.all([
      gateway.call(path),
      fetch(`${gateway.url}${path}`, { method: 'HEAD', headers: { range: 'bytes=0-0' } }),
    ]);
    expect(head.status).toBe(200);
    expect((await head.arrayBuffer()).byteLength).toBe(0);
    for (const name of ['content-length', 'content-type', 'content-disposition', 'etag', 'accept-ranges']) {
      expect([name, head.headers.get(name)]).toEqual([name, got.headers.get(name)]);
    }
  });
});

describe('a version that the client has', () => {
  it('is not sent again: GET and HEAD return 304 without a body', async () => {
    const etag = (await gateway.call(path)).headers.get('etag') ?? '';
    for (const known of [etag, `W/${etag}`, `"another", ${etag}`, '*']) {
      const headers = { 'if-none-match': known, range: 'bytes=0-0' };
      const reply = await gateway.call(path, { headers });
      expect([known, reply.status, reply.text, reply.headers.get('etag')]).toEqual([known, 304, '', etag]);
      const head = await fetch(`${gateway.url}${path}`, { method: 'HEAD', headers });
      // A length would be that of the object: caches compare it with what they have.
      expect([head.status, head.headers.get('etag'), head.headers.get('content-length')]).toEqual([304, etag, null]);
    }
    const reply = await gateway.call(path, { headers: { 'if-none-match': '"another"' } });
    expect([reply.status, reply.bytes]).toEqual([200, BYTES]);
  });
});

describe('a byte range', () => {
  it.each([
    ['bytes=0-0', 'bytes 0-0/10', '0'],
    ['bytes=-1', 'bytes 9-9/10', '9'],
    ['bytes=3-', 'bytes 3-9/10', '3456789'],
    ['bytes=2-4', 'bytes 2-4/10', '234'],
    ['bytes=8-100', 'bytes 8-9/10', '89'],
    ['bytes=-100', 'bytes 0-9/10', '0123456789'],
  ])('%s returns that part', async (range, contentRange, text) => {
    const reply = await gateway.call(path, { headers: { range } });
    expect([reply.status, reply.headers.get('content-range'), reply.text]).toEqual([206, contentRange, text]);
    expect(reply.headers.get('content-length')).toBe(String(text.length));
  });

  it.each(['bytes=0-1,3-4', 'bytes=5-2', 'bytes=', 'items=0-1', 'nonsense'])('%s is ignored', async (range) => {
    const reply = await gateway.call(path, { headers: { range } });
    expect([reply.status, reply.headers.get('content-range'), reply.text]).toEqual([200, null, '0123456789']);
  });

  it.each(['bytes=10-', 'bytes=10-20', 'bytes=-0'])('%s returns 416 with the size', async (range) => {
    const reply = await gateway.call(path, { headers: { range } });
    expect(reply.status).toBe(416);
    expect(reply.json.error).toMatchObject({ code: 'validation_failed', param: 'Range' });
    expect(reply.headers.get('content-range')).toBe('bytes */10');
    for (const name of ['etag', 'content-disposition', 'cache-control']) expect(reply.headers.get(name)).toBeNull();
  });

  it('applies only to the version that the client has', async () => {
    const etag = (await gateway.call(path)).headers.get('etag') ?? '';
    const statuses = [];
    for (const ifRange of [etag, '"another"', `W/${etag}`, 'Sat, 21 Nov 2026 12:00:00 GMT']) {
      statuses.push((await gateway.call(path, { headers: { range: 'bytes=0-0', 'if-range': ifRange } })).status);
    }
    expect(statuses).toEqual([206, 200, 200, 200]);
  });
});

describe('a large object', () => {
  it('is read at the speed of its client, and closed when the client disconnects', async () => {
    const bytes = randomBytes(48 * 1024 * 1024);
    const large = await storedAt(bytes, 'video/mp4');
    const before = process.memoryUsage().arrayBuffers;
    const outgoing = request(`${gateway.url}${large}`).end();
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    await once(incoming, 'readable');
    // The client stops reading. Further data fills only the socket buffers.
    for (let index = 0; index < 200; index++) await nextIteration();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
    expect(openObjects()).toHaveLength(1);
    outgoing.destroy();
    while (openObjects().length > 0) await nextIteration();
  });

  it('arrives complete and leaves no file open, and so do refused ranges, HEAD and 304', async () => {
    const bytes = randomBytes(5 * 1024 * 1024 + 7);
    const large = await storedAt(bytes);
    expect((await gateway.call(large)).bytes.equals(bytes)).toBe(true);
    while (openObjects().length > 0) await nextIteration();
    // Garbage collection has no time to hide leaked files.
    await gateway.call(large, { headers: { range: `bytes=${bytes.length}-` } });
    expect(openObjects()).toEqual([]);
    await fetch(`${gateway.url}${large}`, { method: 'HEAD' });
    expect(openObjects()).toEqual([]);
    await gateway.call(large, { headers: { 'if-none-match': '*' } });
    expect(openObjects()).toEqual([]);
  });
});

/** Files in the storage that this process has open. */
function openObjects(): string[] {
  return readdirSync('/proc/self/fd')
    .map((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`);
      } catch {
        return '';
      }
    })
    .filter((target) => target.includes('/objects/image/'));
}
