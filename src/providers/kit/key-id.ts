import { createHash } from 'node:crypto';

/** Identifies a key without revealing it: keys of vendors are long and random. */
export function keyIdOf(apiKey: string): string {
  return digestOf(`provider key ${apiKey}`);
}

/**
 * Identifies a key at its address, without revealing it. No vendor says which account a key belongs to, so another key,
 * or the same one at another address, counts as another account.
 */
export function accountIdOf(module: string, baseUrl: string | null, apiKey: string): string {
  return digestOf(`key of ${module} at ${baseUrl ?? 'its address'}: ${apiKey}`);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
