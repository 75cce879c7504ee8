import { createHash } from 'node:crypto';

/** Identifies a key without revealing it. Vendors' keys are long and random, so a hash is safe. */
export function keyIdOf(apiKey: string): string {
  return digestOf(`provider key ${apiKey}`);
}

/**
 * Identifies a key and its base URL without revealing the key. Vendors do not say which account a key belongs to, so
 * another key, or the same key at another URL, counts as another account.
 */
export function accountIdOf(module: string, baseUrl: string | null, apiKey: string): string {
  return digestOf(`key of ${module} at ${baseUrl ?? 'its address'}: ${apiKey}`);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
