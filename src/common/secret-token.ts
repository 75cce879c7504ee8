import { createHash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;
const SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** 256 random bits, for cookies and mails. Only the digest is stored. */
export function generateToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** A token is random enough that a fast hash protects it. */
export function digestToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Whether it could be one of ours: saves the question to the database. */
export function hasTokenShape(text: string): boolean {
  return SHAPE.test(text);
}
