/**
 * Zod schemas of the kinds of environment variables. A registry describes what each kind accepts, because error
 * messages, `.env.example` and the README quote it.
 */
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { EMAIL_ADDRESS } from '../types/email-address';
import { parseIpRange } from '../types/ip-range';
import type { Mailbox } from '../types/mailbox';
import type { RedisNode } from '../types/redis-node';

interface SettingKind {
  /** Completes the sentence "… accepts". */
  readonly accepts: string;
  /** Whether messages must not contain the value. */
  readonly secret?: boolean;
}

const KINDS = z.registry<SettingKind>();

/** The kind of a setting; its default and its description wrap the schema of the kind. */
export function kindOf(schema: z.core.$ZodType): SettingKind {
  const kind = KINDS.get(schema);
  if (kind !== undefined) return kind;
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) return kindOf(schema.unwrap());
  throw new TypeError('the schema of a setting has no kind');
}

/** A setting without a default: `null` when it is not set. */
export function optional<Schema extends z.ZodType>(schema: Schema): z.ZodDefault<z.ZodNullable<Schema>> {
  return schema.nullable().default(null as never);
}

export const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .register(KINDS, { accepts: `an integer from ${min} to ${max}` });

export const choice = <const Words extends readonly string[]>(words: Words) =>
  z.enum(words).register(KINDS, { accepts: `one of ${words.join(', ')}` });

export const flag = z
  .enum(['true', 'false'])
  .transform((word) => word === 'true')
  .register(KINDS, { accepts: 'one of true, false' });

/** The URL of a server. Such URLs carry passwords, so they are secret. Whitespace around them is as for `baseUrl`. */
export const serverUrl = (...schemes: string[]) =>
  z
    .string()
    .trim()
    .refine((text) => isUrl(text, schemes))
    .register(KINDS, {
      accepts: `a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
      secret: true,
    });

/**
 * An HTTP URL that paths are appended to, so trailing slashes are removed. So is surrounding whitespace, such as the
 * newline at the end of a secret created from a file: URL parsers ignore it, but other code would not.
 */
export const baseUrl = z
  .string()
  .trim()
  .refine((text) => isUrl(text, ['http', 'https']) && !/[?#]/.test(text))
  .transform((text) => text.replace(/\/+$/, ''))
  .register(KINDS, { accepts: 'a URL that starts with http:// or https:// and has no query or fragment' });

/** A path, made absolute from the working directory. */
export const path = z
  .string()
  .transform((text) => resolve(text))
  .register(KINDS, { accepts: 'a path' });

/** A name or IP address of a network interface. */
export const host = z
  .string()
  .refine((text) => ipaddr.isValid(text) || /^[\w.-]{1,253}$/.test(text))
  .register(KINDS, { accepts: 'an IP address or a host name' });

export const matching = (pattern: RegExp, accepts: string) => z.string().regex(pattern).register(KINDS, { accepts });

/** The sender of a mail: an address, or a name and an address in angle brackets. */
export const mailbox = z
  .string()
  .transform((text, context): Mailbox => {
    const [, label = '', address = text] = /^([^<>"]*)<([^<>]*)>$/.exec(text) ?? [];
    if (!EMAIL_ADDRESS.test(address) || /\p{Cc}/u.test(label)) context.addIssue('not a mailbox');
    return { name: label.trim(), address };
  })
  .register(KINDS, { accepts: 'an address such as gateway@example.com, or Gateway <gateway@example.com>' });

/** A text that must not appear in messages. */
export const secret = (minLength = 1) =>
  z
    .string()
    .min(minLength)
    .regex(/^\S*$/)
    .register(KINDS, {
      accepts: minLength === 1 ? 'any text without spaces' : `at least ${minLength} characters without spaces`,
      secret: true,
    });

/** Keys of 32 bytes, returned in hexadecimal: the current key, then former keys. */
export const encryptionKeys = z
  .string()
  .transform(splitList)
  .pipe(z.array(z.string().regex(/^([0-9a-f]{64}|[\w+/-]{43}=?)$/i)))
  .transform((keys): readonly string[] =>
    keys.map((key) => (key.length === 64 ? key.toLowerCase() : Buffer.from(key, 'base64').toString('hex'))),
  )
  .register(KINDS, { accepts: '32 bytes in base64 or hexadecimal; after commas, the keys before it', secret: true });

/** Addresses and CIDR ranges; never all addresses of a family. */
export const ipRanges = z
  .string()
  .transform(splitList)
  .refine((ranges) => ranges.every((range) => (parseIpRange(range)?.[1] ?? 0) > 0))
  .register(KINDS, { accepts: 'addresses and CIDR ranges separated by commas, none of them /0' });

/** Trusted proxies: Fastify's `trustProxy` without the value that trusts every proxy. */
export const trustedProxies = z
  .union([z.literal('false').transform(() => false as const), integer(1, 32), ipRanges])
  .register(KINDS, {
    accepts:
      'false, the number of proxies in front (1 to 32), or addresses and CIDR ranges, none /0, separated by commas',
  });

/** Addresses of Redis servers with optional credentials, which make the setting secret. */
export const redisNodes = z
  .string()
  .transform(splitList)
  .refine((nodes) => nodes.every((node) => isUrl(`redis://${node}`, ['redis']) && /:\d+$/.test(node)))
  .transform((nodes): readonly RedisNode[] => nodes.map(toRedisNode))
  .register(KINDS, { accepts: 'host:port or user:password@host:port, separated by commas', secret: true });

/** Names of hosts, in lower case. */
export const hostNames = z
  .string()
  .toLowerCase()
  .transform(splitList)
  .refine((names) => names.every((name) => /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)))
  .register(KINDS, { accepts: 'host names separated by commas' });

function splitList(text: string): readonly string[] {
  return text.split(',').map((item) => item.trim());
}

function toRedisNode(text: string): RedisNode {
  const { hostname, port, username, password } = new URL(`redis://${text}`);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port),
    username: decodeURIComponent(username) || null,
    password: decodeURIComponent(password) || null,
  };
}

function isUrl(text: string, schemes: readonly string[]): boolean {
  const url = URL.parse(text);
  return url !== null && url.hostname !== '' && schemes.includes(url.protocol.slice(0, -1));
}
