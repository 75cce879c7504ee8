import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

const KEY_BYTES = 32;
const PURPOSE = 'signed addresses of stored objects';

/** Signs the URLs of locally stored objects. The key is derived, so that the secret can have other uses too. */
export class UrlSignature {
  private readonly signingKey: Buffer;

  constructor(secret: string) {
    this.signingKey = Buffer.from(hkdfSync('sha256', secret, '', PURPOSE, KEY_BYTES));
  }

  /** @param expires Unix time in seconds. Returns base64url. */
  sign(objectKey: string, expires: number): string {
    return createHmac('sha256', this.signingKey).update(`${expires}\n${objectKey}`).digest('base64url');
  }

  /** Constant-time comparison. */
  isValid(objectKey: string, expires: number, signature: string): boolean {
    const given = Buffer.from(signature);
    const expected = Buffer.from(this.sign(objectKey, expires));
    return given.length === expected.length && timingSafeEqual(given, expected);
  }
}
