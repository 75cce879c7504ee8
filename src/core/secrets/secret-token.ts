import { createHash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;
const SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** 256 random bits, for cookies and mails. Only the digest is stored. */
export function generateToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** A fast hash suffices, because tokens are random. */
export function digestToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Whether the text has the format of a token; saves a database query. */
export function hasTokenShape(text: string): boolean {
  return SHAPE.test(text);
}
