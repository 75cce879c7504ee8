import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { EMAIL_ADDRESS } from '../types/email-address';
import { parseIpRange } from '../types/ip-range';
import type { Mailbox } from '../types/mailbox';

/** The storage type of limits. */
const MAX_INTEGER = 2 ** 31 - 1;

/**
 * One environment variable: its parser and documentation. `Fallback` is the type of its default: a value, or `null`.
 */
export interface Setting<Value, Fallback extends Value | null = Value | null> {
  readonly name: string;
  readonly fallback: Fallback;
  /** Completes the sentence "… accepts". */
  readonly accepts: string;
  readonly meaning: string;
  /** Its value appears in no message. */
  readonly secret: boolean;
  /** The typed value, or `undefined` for a text that is not accepted. */
  parse(text: string): Value | undefined;
}

/** An integer with a default. */
export function integer(
  name: string,
  range: { min: number; max: number; fallback: number },
  meaning: string,
): Setting<number, number> {
  return {
    name,
    fallback: range.fallback,
    accepts: `an integer from ${range.min} to ${range.max}`,
    meaning,
    secret: false,
    parse(text) {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      return value >= range.min && value <= range.max ? value : undefined;
    },
  };
}

/** An integer limit; unset means unlimited. */
export function limit(name: string, meaning: string): Setting<number, null> {
  return { ...integer(name, { min: 1, max: MAX_INTEGER, fallback: 1 }, meaning), fallback: null };
}

/** One word of a list; without a fallback, unset has a special meaning. */
export function choice<Word extends string, Fallback extends Word | null>(
  name: string,
  words: readonly Word[],
  fallback: Fallback,
  meaning: string,
): Setting<Word, Fallback> {
  return {
    name,
    fallback,
    accepts: `one of ${words.join(', ')}`,
    meaning,
    secret: false,
    parse: (text) => words.find((word) => word === text),
  };
}

/** The URL of a server. Such URLs carry passwords, so they are secret. */
export function serverUrl(name: string, schemes: readonly string[], meaning: string): Setting<string, null> {
  return {
    name,
    fallback: null,
    accepts: `a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    meaning,
    secret: true,
    parse: (text) => (isUrl(text, schemes) ? text : undefined),
  };
}

/** An HTTP address that paths are appended to, so it loses its trailing slashes. */
export function baseUrl(name: string, meaning: string): Setting<string, null> {
  return {
    name,
    fallback: null,
    accepts: 'a URL that starts with http:// or https:// and has no query or fragment',
    meaning,
    secret: false,
    parse: (text) => (isUrl(text, ['http', 'https']) && !/[?#]/.test(text) ? text.replace(/\/+$/, '') : undefined),
  };
}

/** A path, made absolute from the working directory. */
export function path<Fallback extends string | null>(
  name: string,
  fallback: Fallback,
  meaning: string,
): Setting<string, Fallback> {
  return { name, fallback, accepts: 'a path', meaning, secret: false, parse: (text) => resolve(text) };
}

/** A name or IP address of a network interface. */
export function host<Fallback extends string | null>(
  name: string,
  fallback: Fallback,
  meaning: string,
): Setting<string, Fallback> {
  return {
    name,
    fallback,
    accepts: 'an IP address or a host name',
    meaning,
    secret: false,
    parse: (text) => (ipaddr.isValid(text) || /^[\w.-]{1,253}$/.test(text) ? text : undefined),
  };
}

/** A name that matches a pattern. */
export function name<Fallback extends string | null>(
  variable: string,
  pattern: RegExp,
  accepts: string,
  fallback: Fallback,
  meaning: string,
): Setting<string, Fallback> {
  return {
    name: variable,
    fallback,
    accepts,
    meaning,
    secret: false,
    parse: (text) => (pattern.test(text) ? text : undefined),
  };
}

/** The sender of a mail: an address, or a name and an address in angle brackets. */
export function mailbox(name: string, meaning: string): Setting<Mailbox, null> {
  return {
    name,
    fallback: null,
    accepts: 'an address such as gateway@example.com, or Gateway <gateway@example.com>',
    meaning,
    secret: false,
    parse(text) {
      const [, label = '', address = text] = /^([^<>"]*)<([^<>]*)>$/.exec(text) ?? [];
      if (!EMAIL_ADDRESS.test(address) || /\p{Cc}/u.test(label)) return undefined;
      return { name: label.trim(), address };
    },
  };
}

/** A text that appears in no message. */
export function secret(name: string, meaning: string, minLength = 1): Setting<string, null> {
  return {
    name,
    fallback: null,
    accepts: minLength === 1 ? 'any text without spaces' : `at least ${minLength} characters without spaces`,
    meaning,
    secret: true,
    parse: (text) => (text.length >= minLength && !/\s/.test(text) ? text : undefined),
  };
}

/** Keys of 32 bytes, returned in hexadecimal: the current key, then former keys. */
export function encryptionKeys(name: string, meaning: string): Setting<readonly string[], null> {
  return {
    name,
    fallback: null,
    accepts: '32 bytes in base64 or hexadecimal; after commas, the keys before it',
    meaning,
    secret: true,
    parse(text) {
      const keys = listOf(text);
      if (!keys.every((key) => /^([0-9a-f]{64}|[\w+/-]{43}=?)$/i.test(key))) return undefined;
      return keys.map((key) => (key.length === 64 ? key.toLowerCase() : Buffer.from(key, 'base64').toString('hex')));
    },
  };
}

/** Trusted proxies: Fastify's `trustProxy` without the value that trusts every proxy. */
export function trustedProxies(name: string, meaning: string): Setting<false | number | readonly string[], false> {
  return {
    name,
    fallback: false,
    accepts:
      'false, the number of proxies in front (1 to 32), or addresses and CIDR ranges, none /0, separated by commas',
    meaning,
    secret: false,
    parse(text) {
      if (text === 'false') {
        return false;
      }
      if (/^\d+$/.test(text)) {
        const hops = Number(text);
        return hops >= 1 && hops <= 32 ? hops : undefined;
      }
      const ranges = listOf(text);
      return ranges.every(isNarrowRange) ? ranges : undefined;
    },
  };
}

/** Addresses and CIDR ranges; never all addresses of a family. */
export function ipRanges(name: string, meaning: string): Setting<readonly string[], null> {
  return {
    name,
    fallback: null,
    accepts: 'addresses and CIDR ranges separated by commas, none of them /0',
    meaning,
    secret: false,
    parse(text) {
      const ranges = listOf(text);
      return ranges.every(isNarrowRange) ? ranges : undefined;
    },
  };
}

/** Names of hosts, in lower case. */
export function hostNames(name: string, meaning: string): Setting<readonly string[], null> {
  return {
    name,
    fallback: null,
    accepts: 'host names separated by commas',
    meaning,
    secret: false,
    parse(text) {
      const names = listOf(text.toLowerCase());
      return names.every((host) => /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host)) ? names : undefined;
    },
  };
}

/** Not all addresses of a family. */
function isNarrowRange(text: string): boolean {
  return (parseIpRange(text)?.[1] ?? 0) > 0;
}

function listOf(text: string): readonly string[] {
  return text.split(',').map((item) => item.trim());
}

function isUrl(text: string, schemes: readonly string[]): boolean {
  const url = URL.parse(text);
  return url !== null && url.hostname !== '' && schemes.includes(url.protocol.slice(0, -1));
}
