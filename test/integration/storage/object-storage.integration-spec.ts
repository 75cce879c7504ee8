import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { systemClock } from '../../../src/core/time/clock';
import { LocalStorage } from '../../../src/core/storage/local-storage';
import { toArchiveKey, toObjectKey } from '../../../src/core/storage/object-key';
import { OBJECT_STORAGE, type ObjectStorage } from '../../../src/core/storage/object-storage';
import { TestGateway } from '../../harness/gateway';
import { S3Server } from '../../harness/s3-server';

/** What holds for every storage, seen as a client sees it: through the addresses that were signed. */
describe.each([
  ['a bucket', { s3: true }],
  ['the disk', { s3: false }],
])('outputs in %s', (_name, { s3 }) => {
  const clock = {
    offsetMs: 0,
    now: () => systemClock.now() + clock.offsetMs,
    monotonic: () => systemClock.monotonic(),
  };
  let server: S3Server | null = null;
  let gateway: TestGateway;
  let storage: ObjectStorage;
  beforeAll(async () => {
    server = s3 ? await S3Server.start() : null;
    gateway = await TestGateway.start(server === null ? { STORAGE: 'local' } : bucketSettings(server), clock);
    storage = gateway.app.get(OBJECT_STORAGE, { strict: false });
  });
  afterEach(() => {
    clock.offsetMs = 0;
  });
  afterAll(async () => {
    await gateway.stop();
    await server?.stop();
  });

  it('are kept there', () => {
    expect(storage instanceof LocalStorage).toBe(!s3);
  });

  const newKey = (contentType = 'image/png') =>
    toObjectKey({ kind: 'image', organizationId: randomUUID(), id: randomUUID() }, 0, contentType);
  const fetchSigned = async (key: string, headers: Record<string, string> = {}) => {
    const response = await fetch((await storage.sign(key)).url, { headers });
    return { response, bytes: Buffer.from(await response.arrayBuffer()) };
  };

  it('come back byte for byte, with their type, as a download with a name', async () => {
    const [key, bytes] = [newKey('image/webp'), randomBytes(100_000)];
    expect(await storage.put(key, bytes)).toEqual({ sizeBytes: bytes.length });
    const fetched = await fetchSigned(key);
    expect(fetched.response.status).toBe(200);
    expect(fetched.bytes.equals(bytes)).toBe(true);
    expect(fetched.response.headers.get('content-type')).toBe('image/webp');
    expect(fetched.response.headers.get('content-disposition')).toBe('attachment; filename="image-1.webp"');
  });

  it('of 20 MiB are stored from a stream of unknown length', async () => {
    const [key, part] = [newKey(), randomBytes(1024 * 1024 + 1)];
    const parts = Array<Buffer>(20).fill(part);
    expect(await storage.put(key, Readable.from(parts))).toEqual({ sizeBytes: 20 * part.length });
    expect((await fetchSigned(key)).bytes.equals(Buffer.concat(parts))).toBe(true);
  });

  it('are stored from short and empty streams too', async () => {
    for (const text of ['short', '']) {
      const key = newKey();
      expect(await storage.put(key, Readable.from(text === '' ? [] : [Buffer.from(text)]))).toEqual({
        sizeBytes: text.length,
      });
      expect((await fetchSigned(key)).bytes.toString()).toBe(text);
    }
  });

  it('can be read by the gateway itself, and are nothing where nothing is', async () => {
    const [key, bytes] = [newKey(), randomBytes(300_000)];
    expect(await storage.read(key)).toBeNull();
    await storage.put(key, bytes);
    expect((await storage.read(key))?.equals(bytes)).toBe(true);
  });

  it('of any size can be read piece by piece, and are nothing where nothing is', async () => {
    const { signal } = new AbortController();
    const [key, bytes] = [newKey(), randomBytes(20 * 1024 * 1024)];
    expect(await storage.open(key, signal)).toBeNull();
    await storage.put(key, bytes);
    const pieces: Buffer[] = [];
    for await (const piece of (await storage.open(key, signal)) ?? []) pieces.push(piece as Buffer);
    expect(pieces.length).toBeGreaterThan(20);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  });

  it('can be given up while they are read', async () => {
    const giveUp = new AbortController();
    const key = newKey();
    await storage.put(key, randomBytes(20 * 1024 * 1024));
    const reading = async () => {
      for await (const piece of (await storage.open(key, giveUp.signal)) ?? []) {
        if ((piece as Buffer).length > 0) giveUp.abort();
      }
    };
    await expect(reading()).rejects.toThrow('abort');
  });

  it('of archived days are stored like others, and get no address', async () => {
    const key = toArchiveKey(randomUUID().slice(-12), '2026-11-26');
    await storage.put(key, Buffer.from('x'));
    expect((await storage.read(key))?.toString()).toBe('x');
    await expect(storage.sign(key)).rejects.toThrow('not the key of an object');
    await storage.delete(key);
    expect(await storage.read(key)).toBeNull();
  });

  it('are replaced by a later object under the same key', async () => {
    const key = newKey();
    await storage.put(key, Buffer.from('first'));
    await storage.put(key, Buffer.from('second'));
    expect((await fetchSigned(key)).bytes.toString()).toBe('second');
  });

  it('are not there when their body failed on the way, and the failure is passed on', async () => {
    const key = newKey();
    const failure = new Error('the provider hung up');
    const body = Readable.from(
      (async function* () {
        yield randomBytes(9 * 1024 * 1024);
        throw failure;
      })(),
    );
    await expect(storage.put(key, body)).rejects.toBe(failure);
    expect((await fetchSigned(key)).response.status).toBe(404);
  });

  it('do not exist after their deletion, which may be repeated', async () => {
    const key = newKey();
    await storage.put(key, Buffer.from('x'));
    await storage.delete(key);
    await storage.delete(key);
    expect((await fetchSigned(key)).response.status).toBe(404);
  });

  it('can be fetched in parts', async () => {
    const key = newKey();
    await storage.put(key, Buffer.from('0123456789'));
    const { response, bytes } = await fetchSigned(key, { range: 'bytes=2-4' });
    expect([response.status, response.headers.get('content-range'), bytes.toString()]).toEqual([
      206,
      'bytes 2-4/10',
      '234',
    ]);
  });

  it('cannot be fetched when the address has expired, though a new one works', async () => {
    const key = newKey();
    await storage.put(key, Buffer.from('x'));
    clock.offsetMs = -2 * 3_600_000;
    const { url, expiresAt } = await storage.sign(key);
    clock.offsetMs = 0;
    expect(expiresAt.getTime()).toBeLessThan(clock.now());
    const expired = await fetch(url);
    await expired.arrayBuffer();
    expect(expired.status).toBe(s3 ? 403 : 404);
    expect((await fetchSigned(key)).response.status).toBe(200);
  });

  it('cannot be fetched with the address of another one', async () => {
    const [key, other] = [newKey(), newKey()];
    await storage.put(key, Buffer.from('x'));
    const { url } = await storage.sign(other);
    const swapped = await fetch(url.replace(other, key));
    await swapped.arrayBuffer();
    expect(swapped.status).toBe(s3 ? 403 : 404);
  });

  it('have addresses that lead back to their keys, which no others do', async () => {
    const key = newKey();
    const { url } = await storage.sign(key);
    expect(storage.keyOf(url)).toBe(key);
    expect(
      [url.split('?')[0], url.replace(key, 'x'), 'https://provider.example/a.png?X-Amz-Signature=1'].map((other) =>
        storage.keyOf(String(other)),
      ),
    ).toEqual([null, null, null]);
  });

  it('have addresses that end with the objects themselves', async () => {
    const key = newKey();
    await storage.put(key, Buffer.from('x'));
    const keptUntil = new Date(clock.now() - 60_000);
    clock.offsetMs = -120_000;
    const { url, expiresAt } = await storage.sign(key, keptUntil);
    clock.offsetMs = 0;
    expect(expiresAt.getTime()).toBe(Math.floor(keptUntil.getTime() / 1_000) * 1_000);
    const late = await fetch(url);
    await late.arrayBuffer();
    expect(late.status).toBe(s3 ? 403 : 404);
  });

  it('have addresses that work for an hour', async () => {
    const before = Math.floor(clock.now() / 1_000) * 1_000;
    const { expiresAt } = await storage.sign(newKey());
    expect(expiresAt.getTime()).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(expiresAt.getTime()).toBeLessThanOrEqual(clock.now() + 3_600_000);
  });
});

function bucketSettings(server: S3Server): Record<string, string> {
  return {
    S3_BUCKET: S3Server.BUCKET,
    S3_ENDPOINT: server.url,
    S3_ACCESS_KEY_ID: S3Server.CREDENTIALS.accessKeyId,
    S3_SECRET_ACCESS_KEY: S3Server.CREDENTIALS.secretAccessKey,
  };
}
