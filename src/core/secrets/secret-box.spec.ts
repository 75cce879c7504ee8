import { SecretBox, SecretBoxError } from './secret-box';

const OLD = 'ab'.repeat(32);
const NEW = 'cd'.repeat(32);

describe('a secret box', () => {
  const box = new SecretBox([NEW]);

  it('opens a sealed secret, whose text does not contain the plaintext', () => {
    const sealed = box.seal('whsec_hunter2 \u{e9}', 'webhook of A');
    expect(box.unseal(sealed, 'webhook of A')).toBe('whsec_hunter2 \u{e9}');
    expect(sealed).toMatch(/^v1\.[0-9a-f]{16}\.[\w-]+$/);
    expect(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('hunter2');
  });

  it('seals the same secret differently each time', () => {
    expect(box.seal('same', 'purpose')).not.toBe(box.seal('same', 'purpose'));
  });

  it('refuses to open for another purpose', () => {
    expect(() => box.unseal(box.seal('secret', 'webhook of A'), 'webhook of B')).toThrow(SecretBoxError);
  });

  it('refuses to open after any single-bit change', () => {
    const [version, keyId, text = ''] = box.seal('secret', 'purpose').split('.');
    const bytes = Buffer.from(text, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => box.unseal(`${version}.${keyId}.${changed.toString('base64url')}`, 'purpose')).toThrow(
        SecretBoxError,
      );
    }
  });

  it.each(['', 'v1', 'v2.0000.AAAA', 'nonsense', `v1.${'0'.repeat(16)}.AAAA`])('does not open %j', (text) => {
    expect(() => box.unseal(text, 'purpose')).toThrow(SecretBoxError);
  });

  it('derives boxes that open nothing from another context or from the box itself, and keep its former keys', () => {
    const sealed = box.derive('organization A').seal('secret', 'purpose');
    expect(box.derive('organization A').unseal(sealed, 'purpose')).toBe('secret');
    expect(new SecretBox([OLD, NEW]).derive('organization A').unseal(sealed, 'purpose')).toBe('secret');
    for (const other of [box, box.derive('organization B'), new SecretBox([OLD]).derive('organization A')]) {
      expect(() => other.unseal(sealed, 'purpose')).toThrow(SecretBoxError);
    }
    const rotated = new SecretBox([OLD, NEW]).derive('organization A');
    expect(new SecretBox([OLD]).derive('organization A').unseal(rotated.seal('new', 'p'), 'p')).toBe('new');
  });

  it('refuses to open text that is too short', () => {
    const [version, keyId] = box.seal('secret', 'purpose').split('.');
    expect(() => box.unseal(`${version}.${keyId}.AAAA`, 'purpose')).toThrow(SecretBoxError);
  });

  it('opens secrets of listed former keys, and seals with the first key', () => {
    const before = new SecretBox([OLD]).seal('secret', 'purpose');
    const rotated = new SecretBox([NEW, OLD]);
    expect(rotated.unseal(before, 'purpose')).toBe('secret');
    expect(new SecretBox([NEW]).unseal(rotated.seal('secret', 'purpose'), 'purpose')).toBe('secret');
    expect(() => new SecretBox([NEW]).unseal(before, 'purpose')).toThrow(SecretBoxError);
  });

  it.each([[[]], [['ab']], [['ab'.repeat(33)]]])('refuses the keys %j', (keys) => {
    expect(() => new SecretBox(keys)).toThrow(/key/);
  });
});
