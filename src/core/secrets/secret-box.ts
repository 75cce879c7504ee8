import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 'v1';

/** A sealed secret cannot be opened: its key is missing, its purpose differs, or it was modified. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError';
}

interface BoxKey {
  /** Public; identifies the key of a sealed secret. */
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * Encrypts secrets that must stay readable, such as those of webhooks: AES-256-GCM with an operator key.
 *
 * A secret sealed for one purpose opens for no other, so that it cannot be moved to another row. Format:
 * `v1.<key id>.<base64url of nonce, ciphertext, tag>`.
 */
export class SecretBox {
  private readonly current: BoxKey;
  private readonly keys: ReadonlyMap<string, BoxKey>;

  /** @param keys 32 bytes each, in hexadecimal. The first key seals; the others only open. */
  constructor(keys: readonly string[]) {
    const [current, ...former] = keys.map(toBoxKey);
    if (current === undefined) throw new Error('a secret box needs a key');
    this.current = current;
    // The current key last, as `derive` expects.
    this.keys = new Map([...former, current].map((key) => [key.id, key]));
  }

  /**
   * A box for one context, such as an organization, with keys derived from the keys of this box (HKDF-SHA-256). For
   * data that is sealed so often that a single key would run out of nonces.
   */
  derive(context: string): SecretBox {
    const derive = ({ bytes }: BoxKey): string =>
      Buffer.from(hkdfSync('sha256', bytes, '', context, bytes.length)).toString('hex');
    return new SecretBox([...this.keys.values()].toReversed().map(derive));
  }

  /** Whether the secret was sealed with the current key, so that `secrets reseal` skips it. */
  isCurrent(sealed: string): boolean {
    return keyIdOf(sealed) === this.current.id;
  }

  seal(secret: string, purpose: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.current.bytes, nonce).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${VERSION}.${this.current.id}.${sealed.toString('base64url')}`;
  }

  /** @throws SecretBoxError */
  unseal(sealed: string, purpose: string): string {
    const [version, keyId = '', text = ''] = sealed.split('.');
    const key = this.keys.get(keyId);
    if (version !== VERSION || key === undefined) throw new SecretBoxError('It was sealed with a key that is not set.');
    const bytes = Buffer.from(text, 'base64url');
    try {
      const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const body = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new SecretBoxError('It was sealed for another purpose, or has been changed.', { cause });
    }
  }
}

/** The public id of the key of a sealed secret. */
export function keyIdOf(sealed: string): string {
  return sealed.split('.')[1] ?? '';
}

function toBoxKey(hexadecimal: string): BoxKey {
  const bytes = Buffer.from(hexadecimal, 'hex');
  if (bytes.length !== 32) throw new Error('a key of a secret box has 32 bytes');
  return { bytes, id: createHmac('sha256', bytes).update('key id').digest('hex').slice(0, 16) };
}
