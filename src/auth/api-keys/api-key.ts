import { createHmac, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * The text of an API key: `sk-llm-`, 32 random base62 characters (190 bits), and the CRC32 of all that as six base62
 * characters. The checksum allows rejecting mistyped and invented keys without a database query.
 */
const API_KEY_PREFIX = 'sk-llm-';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const CHECKED_LENGTH = API_KEY_PREFIX.length + RANDOM_LENGTH;
const SHAPE = /^sk-llm-[0-9A-Za-z]{38}$/;

/** The parts of a key that may be displayed after its creation. Over 160 random bits stay hidden. */
const DISPLAY_PREFIX_LENGTH = 11;
const DISPLAY_SUFFIX_LENGTH = 4;

/** A new key from the system's random source. Show it once; store only its digest and display parts. */
export function generateApiKey(): string {
  let checked = API_KEY_PREFIX;
  for (let position = 0; position < RANDOM_LENGTH; position++) {
    // randomInt rejects out-of-range draws, so every character is equally likely.
    checked += BASE62.charAt(randomInt(BASE62.length));
  }
  return checked + checksumOf(checked);
}

/** Whether the text has the format of a generated key: prefix, alphabet, length, checksum. */
export function hasValidShape(key: string): boolean {
  return SHAPE.test(key) && key.endsWith(checksumOf(key.slice(0, CHECKED_LENGTH)));
}

/**
 * The stored digest: HMAC-SHA256 under the operator's pepper. At 190 random bits a slow hash adds no protection and
 * would let unauthenticated callers burn CPU time.
 */
export function digestApiKey(key: string, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest();
}

/** The parts of a key that identify it in a list. */
export function toDisplayParts(key: string): { readonly prefix: string; readonly last4: string } {
  return { prefix: key.slice(0, DISPLAY_PREFIX_LENGTH), last4: key.slice(-DISPLAY_SUFFIX_LENGTH) };
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let encoded = '';
  for (let position = 0; position < CHECKSUM_LENGTH; position++) {
    encoded = BASE62.charAt(rest % BASE62.length) + encoded;
    rest = Math.floor(rest / BASE62.length);
  }
  return encoded;
}
