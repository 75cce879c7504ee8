import {
  contentTypeOf,
  headOf,
  isObjectKey,
  requireObjectKey,
  requireStoredKey,
  toArchiveKey,
  toKeyPrefix,
  toObjectKey,
} from './object-key';

const owner = {
  kind: 'image',
  organizationId: '0190a1b2-0000-7000-8000-000000000001',
  id: '0190a1b2-0000-7000-8000-00000000000f',
} as const;
const PREFIX = 'image/0190a1b2-0000-7000-8000-000000000001/0190a1b2-0000-7000-8000-00000000000f/';

describe('an object key', () => {
  it.each([
    ['image/png', '0.png'],
    ['image/jpeg', '0.jpg'],
    ['IMAGE/WebP; charset=binary', '0.webp'],
    ['text/html', '0.bin'],
    ['', '0.bin'],
  ])('of content type "%s" ends with %s', (contentType, ending) => {
    expect(toObjectKey(owner, 0, contentType)).toBe(`${PREFIX}${ending}`);
  });

  it('begins with the prefix of its owner', () => {
    expect(toObjectKey(owner, 3, 'image/png').startsWith(toKeyPrefix(owner))).toBe(true);
  });

  it('determines content type and download name, with the first type of a shared extension', () => {
    expect(headOf(toObjectKey(owner, 1, 'image/jpeg'))).toEqual({ contentType: 'image/jpeg', fileName: 'image-2.jpg' });
    const music = { ...owner, kind: 'music' } as const;
    expect(headOf(toObjectKey(music, 0, 'audio/x-wav'))).toEqual({ contentType: 'audio/wav', fileName: 'music-1.wav' });
    expect(headOf(toObjectKey(music, 0, 'text/html')).contentType).toBe('application/octet-stream');
  });

  it.each([
    '',
    '..',
    '../../etc/passwd',
    '/etc/passwd',
    `/${PREFIX}0.png`,
    `${PREFIX}../0.png`,
    `${PREFIX}..`,
    `${PREFIX}0.png/..`,
    `${PREFIX}0.png\0`,
    `${PREFIX}0.png\n`,
    `${PREFIX}%2e%2e`,
    `${PREFIX}0.PNG`,
    `${PREFIX}-1.png`,
    `${PREFIX}1.5.png`,
    `${PREFIX}.png`,
    PREFIX.toUpperCase() + '0.png',
    PREFIX.replaceAll('/', '\\') + '0.png',
    'image/org/id/0.png',
    '.drafts/0190a1b2-0000-7000-8000-000000000001',
    'other/0190a1b2-0000-7000-8000-000000000001/0190a1b2-0000-7000-8000-00000000000f/0.png',
  ])('is not %j', (text) => {
    expect(isObjectKey(text)).toBe(false);
    expect(() => requireObjectKey(text)).toThrow('not the key of an object');
    expect(() => headOf(text)).toThrow('not the key of an object');
  });

  it('of an archived day contains the day, can be stored, and never becomes a client URL', () => {
    const key = toArchiveKey('0190a1b2c3d4', '2026-11-26');
    expect(key).toBe('ledger/0190a1b2c3d4/2026-11-26.ndjson.gz');
    expect(requireStoredKey(key)).toBe(key);
    expect(contentTypeOf(key)).toBe('application/gzip');
    expect(isObjectKey(key)).toBe(false);
    expect(() => requireObjectKey(key)).toThrow('not the key of an object');
  });

  it.each([
    ['../..', '2026-11-26'],
    ['0190a1b2c3d4', '../x'],
    ['0190a1b2c3d4', '2026-11-26\n'],
    ['0190A1B2C3D4', '2026-11-26'],
  ])('of an archived day is refused for %j and %j', (deployment, day) => {
    expect(() => toArchiveKey(deployment, day)).toThrow('not the key');
  });

  it('is refused for owner ids with path segments', () => {
    expect(() => toObjectKey({ ...owner, id: '../../secrets' }, 0, 'image/png')).toThrow('not the key');
  });
});
