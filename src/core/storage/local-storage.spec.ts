import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  mkdirSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { LocalStorage, type StoredFile } from './local-storage';
import { toObjectKey } from './object-key';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const TTL_SECONDS = 3_600;
const owner = {
  kind: 'image',
  organizationId: '0190a1b2-0000-7000-8000-000000000001',
  id: '0190a1b2-0000-7000-8000-00000000000f',
} as const;
const KEY = toObjectKey(owner, 0, 'image/png');

let root: string;
let nowMs: number;
let storage: LocalStorage;

const create = (secret = 'a-secret-that-only-this-test-knows') =>
  new LocalStorage(
    { root, secret, signedUrlTtlSeconds: TTL_SECONDS, baseUrl: () => 'https://ai.example/base' },
    { now: () => nowMs, monotonic: () => nowMs },
  );

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'local-storage-'));
  nowMs = NOW_MS;
  storage = create();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function contentOf(key: string): Promise<Buffer | null> {
  const file = await storage.openFile(key);
  return file === null ? null : buffer(file.stream(0, file.sizeBytes - 1));
}

async function opened(): Promise<StoredFile> {
  const file = await storage.openFile(KEY);
  if (file === null) throw new Error('there is no such object');
  return file;
}

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextIteration();
}

async function parametersOf(key: string): Promise<{ expires: string; signature: string }> {
  const { searchParams } = new URL((await storage.sign(key)).url);
  return { expires: searchParams.get('expires') ?? '', signature: searchParams.get('signature') ?? '' };
}

describe('a local object', () => {
  it('is invisible until it is completely written', async () => {
    const body = new PassThrough();
    const stored = storage.put(KEY, body);
    body.write('half');
    await until(() =>
      filesBelow(root).some(({ name }) => readFileSync(join(root, '.drafts', name), 'utf8') === 'half'),
    );
    expect(await storage.openFile(KEY)).toBeNull();
    body.end(' and the rest');
    expect(await stored).toEqual({ sizeBytes: 17 });
    expect(await contentOf(KEY)).toEqual(Buffer.from('half and the rest'));
    expect(readdirSync(join(root, '.drafts'))).toEqual([]);
  });

  it('keeps the old version when a new one fails, and rethrows the error of the body', async () => {
    await storage.put(KEY, Buffer.from('old'));
    const failure = new Error('the provider hung up');
    const body = Readable.from(
      (async function* () {
        yield Buffer.from('ne');
        throw failure;
      })(),
    );
    await expect(storage.put(KEY, body)).rejects.toBe(failure);
    expect(await contentOf(KEY)).toEqual(Buffer.from('old'));
    expect(filesBelow(root)).toHaveLength(1);
  });

  it('can be empty, and has a new ETag for new content', async () => {
    expect(await storage.put(KEY, Buffer.alloc(0))).toEqual({ sizeBytes: 0 });
    const empty = await opened();
    expect(await buffer(empty.stream(0, -1))).toEqual(Buffer.alloc(0));
    await storage.put(KEY, Buffer.from('1'));
    const full = await opened();
    await full.close();
    expect(full.entityTag).not.toBe(empty.entityTag);
  });

  it('is deleted with its empty folder, and can be deleted twice', async () => {
    await storage.put(KEY, Buffer.from('1'));
    const sibling = toObjectKey(owner, 1, 'image/png');
    await storage.put(sibling, Buffer.from('2'));
    await storage.delete(KEY);
    await storage.delete(KEY);
    expect(await contentOf(sibling)).toEqual(Buffer.from('2'));
    await storage.delete(sibling);
    expect(readdirSync(join(root, 'image', owner.organizationId))).toEqual([]);
  });

  it('can be stored while its folder is being removed', async () => {
    const stored = new AbortController();
    const clear = async (): Promise<void> => {
      while (!stored.signal.aborted) await storage.delete(KEY);
    };
    const clearing = clear();
    try {
      for (let round = 0; round < 100; round++) await storage.put(KEY, Buffer.from('1'));
    } finally {
      stored.abort();
      await clearing;
    }
    await storage.put(KEY, Buffer.from('2'));
    expect(await contentOf(KEY)).toEqual(Buffer.from('2'));
  });

  it('is never a symbolic link', async () => {
    const secret = join(root, 'secret');
    writeFileSync(secret, 'secret');
    mkdirSync(dirname(join(root, KEY)), { recursive: true });
    symlinkSync(secret, join(root, KEY));
    expect(await storage.openFile(KEY)).toBeNull();
  });

  it('fails with service_unavailable when the folder is not writable', async () => {
    writeFileSync(join(root, 'image'), 'a file where a folder should be');
    await expect(storage.put(KEY, Buffer.from('1'))).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await storage.openFile(KEY)).toBeNull();
    expect(readdirSync(join(root, '.drafts'))).toEqual([]);
  });

  it.each(['../escape.png', '/etc/passwd', `${KEY}/../../x`, `${KEY}\0.png`, '.drafts/x'])(
    'cannot be named %j',
    async (key) => {
      await expect(storage.put(key, Buffer.from('1'))).rejects.toThrow('not the key of an object');
      await expect(storage.openFile(key)).rejects.toThrow('not the key of an object');
      await expect(storage.delete(key)).rejects.toThrow('not the key of an object');
      await expect(storage.sign(key)).rejects.toThrow('not the key of an object');
      expect(filesBelow(root)).toEqual([]);
    },
  );
});

describe('drafts of processes that died', () => {
  it('are removed only after the maximum write time', async () => {
    await storage.put(KEY, Buffer.from('1'));
    const [old, young] = ['old', 'young'].map((name) => join(root, '.drafts', name)) as [string, string];
    for (const draft of [old, young]) writeFileSync(draft, 'half');
    const dayMs = 24 * 3_600_000;
    utimesSync(old, new Date(nowMs - dayMs - 1), new Date(nowMs - dayMs - 1));
    utimesSync(young, new Date(nowMs - dayMs + 1_000), new Date(nowMs - dayMs + 1_000));
    await storage.removeAbandonedDrafts();
    expect(readdirSync(join(root, '.drafts'))).toEqual(['young']);
    expect(readFileSync(join(root, KEY), 'utf8')).toBe('1');
  });

  it('are not an error when their folder is missing', async () => {
    await expect(storage.removeAbandonedDrafts()).resolves.toBeUndefined();
  });
});

describe('a signed URL', () => {
  it('begins with the public base URL and contains its expiry', async () => {
    const { url, expiresAt } = await storage.sign(KEY);
    expect(url.startsWith(`https://ai.example/base/v1/objects/${KEY}?`)).toBe(true);
    expect(expiresAt).toEqual(new Date(NOW_MS + TTL_SECONDS * 1_000));
  });

  it('works until it expires', async () => {
    const { expires, signature } = await parametersOf(KEY);
    expect(storage.secondsLeft(KEY, expires, signature)).toBe(TTL_SECONDS);
    nowMs += TTL_SECONDS * 1_000 - 1;
    expect(storage.secondsLeft(KEY, expires, signature)).toBe(1);
    nowMs += 1;
    expect(storage.secondsLeft(KEY, expires, signature)).toBe(0);
  });

  it('is valid for one object, one expiry and one secret', async () => {
    const { expires, signature } = await parametersOf(KEY);
    const other = toObjectKey(owner, 1, 'image/png');
    const elsewhere = await parametersOf(other);
    const later = String(Number(expires) + 1);
    expect(storage.secondsLeft(other, expires, signature)).toBe(0);
    expect(storage.secondsLeft(KEY, expires, elsewhere.signature)).toBe(0);
    expect(storage.secondsLeft(KEY, later, signature)).toBe(0);
    expect(create('another-secret-of-thirty-two-chars').secondsLeft(KEY, expires, signature)).toBe(0);
    expect(create().secondsLeft(KEY, expires, signature)).toBe(TTL_SECONDS);
  });

  it('is refused with other spellings of its parameters', async () => {
    const { expires, signature } = await parametersOf(KEY);
    const signatures: unknown[] = [
      undefined,
      '',
      [signature],
      [signature, signature],
      `${signature}=`,
      ` ${signature}`,
      signature.slice(0, -1),
      signature.toLowerCase(),
      flipLastCharacter(signature),
      Buffer.from(signature, 'base64url').toString('base64'),
      Buffer.from(signature, 'base64url').toString('hex'),
      'ä'.repeat(43),
    ];
    for (const forged of signatures) expect(storage.secondsLeft(KEY, expires, forged)).toBe(0);
    for (const spelled of [
      undefined,
      '',
      [expires],
      `0${expires}`,
      `+${expires}`,
      `${expires}.0`,
      `${expires} `,
      '1e12',
    ]) {
      expect(storage.secondsLeft(KEY, spelled, signature)).toBe(0);
    }
  });

  it('maps back to its key, even after its expiry, unlike other URLs', async () => {
    const { url } = await storage.sign(KEY);
    nowMs += 10 * TTL_SECONDS * 1_000;
    expect(storage.keyOf(url)).toBe(KEY);
    expect(storage.keyOf(url.replace('ai.example', 'old-name.example'))).toBe(KEY);
    for (const foreign of [
      'https://provider.example/files/1.png',
      `https://ai.example/v1/objects/${KEY}`,
      `https://ai.example/v1/objects/x/../${KEY}x?signature=1`,
      'not a URL',
      '',
    ]) {
      expect(storage.keyOf(foreign)).toBeNull();
    }
  });
});

/**
 * Another character of the alphabet with the same leading bits: the four bits that do not fit in 32 bytes are ignored
 * by lenient decoders.
 */
function flipLastCharacter(signature: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(signature.slice(-1));
  return `${signature.slice(0, -1)}${alphabet[last ^ 1]}`;
}
