import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { systemClock } from '../../../src/core/time/clock';
import { GatewayError } from '../../../src/core/errors/gateway-error';
import { toObjectKey } from '../../../src/core/storage/object-key';
import { type S3Options, S3Storage } from '../../../src/core/storage/s3-storage';
import { FaultProxy } from '../../harness/fault-proxy';
import { S3Server } from '../../harness/s3-server';

/** A bucket that is unreachable, hangs, or refuses: a clear answer in bounded time, and no partial files. */
let server: S3Server;
let wire: FaultProxy;
let storages: S3Storage[] = [];
beforeAll(async () => {
  server = await S3Server.start();
  wire = await FaultProxy.start(server.url);
});
afterEach(() => {
  wire.heal();
  for (const storage of storages) storage.close();
  storages = [];
});
afterAll(async () => {
  await wire.close();
  await server.stop();
});

const PATIENT = { connectMs: 60_000, requestMs: 60_000, putMs: 60_000 };
/** For a bucket that never answers: each of the three attempts of a request has a second. */
const SHORT = { ...PATIENT, requestMs: 1_000 };
const newKey = () => toObjectKey({ kind: 'video', organizationId: randomUUID(), id: randomUUID() }, 0, 'video/mp4');

async function open(options: Partial<S3Options> = {}): Promise<S3Storage> {
  const storage = await S3Storage.create(
    {
      bucket: S3Server.BUCKET,
      region: 'us-east-1',
      endpoint: wire.url,
      publicEndpoint: null,
      forcePathStyle: true,
      credentials: S3Server.CREDENTIALS,
      signedUrlTtlSeconds: 3_600,
      timeouts: PATIENT,
      ...options,
    },
    systemClock,
  );
  storages.push(storage);
  return storage;
}

async function failureOf(work: Promise<unknown>): Promise<GatewayError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GatewayError)) throw new Error(`expected a GatewayError, got ${String(error)}`);
  return error;
}

describe.each([
  ['refuses connections', PATIENT, () => wire.cutOff()],
  ['accepts connections and never answers', SHORT, () => wire.fail('both', { hang: true })],
  ['cuts connections in mid-request', PATIENT, () => wire.fail('toServer', { cut: { afterBytes: 100, by: 'reset' } })],
])('a bucket that %s', (_name, timeouts, fail) => {
  it('is service_unavailable for each operation, to be tried again', async () => {
    const storage = await open({ timeouts });
    fail();
    const body = Readable.from([randomBytes(1_000)]);
    const failures = await Promise.all([
      failureOf(storage.put(newKey(), Buffer.from('x'))),
      failureOf(storage.put(newKey(), body)),
      failureOf(storage.delete(newKey())),
    ]);
    for (const { code, shouldRetry, retryAfterSeconds } of failures) {
      expect([code, shouldRetry, retryAfterSeconds]).toEqual(['service_unavailable', true, 5]);
    }
    expect(body.destroyed).toBe(true);
  });

  it('does not keep addresses from being signed, and is used again once it is back', async () => {
    const storage = await open({ timeouts });
    const key = newKey();
    fail();
    await storage.sign(key);
    await failureOf(storage.put(key, Buffer.from('x')));
    wire.heal();
    // What was held back of the first one may still arrive: the next one has a place of its own.
    const next = newKey();
    await storage.put(next, Buffer.from('back'));
    const fetched = await fetch((await storage.sign(next)).url);
    expect(await fetched.text()).toBe('back');
  });
});

describe('a bucket that cannot be used', () => {
  it.each([
    ['does not exist', { bucket: 'another-bucket' }],
    ['does not know the key', { credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'wrong' } }],
  ])('since it %s is service_unavailable', async (_name, options) => {
    const storage = await open(options);
    const failure = await failureOf(storage.put(newKey(), Buffer.from('x')));
    expect(failure.code).toBe('service_unavailable');
    expect(failure.message).not.toContain('another-bucket');
  });
});

describe('a public endpoint', () => {
  it('is where addresses lead to, while the gateway stores by the other', async () => {
    const storage = await open({ publicEndpoint: server.url });
    const key = newKey();
    await storage.put(key, Buffer.from('x'));
    wire.cutOff();
    const { url } = await storage.sign(key);
    expect(url.startsWith(server.url)).toBe(true);
    expect(await (await fetch(url)).text()).toBe('x');
    expect(storage.keyOf(url)).toBe(key);
  });

  it('may name the bucket in its host', async () => {
    const storage = await open({ publicEndpoint: 'https://storage.example', forcePathStyle: false });
    const key = newKey();
    const { url } = await storage.sign(key);
    expect(url.startsWith(`https://${S3Server.BUCKET}.storage.example/${key}?`)).toBe(true);
    expect(storage.keyOf(url)).toBe(key);
  });
});
