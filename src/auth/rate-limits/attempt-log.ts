import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';

/** At most `limit` attempts in any `windowMs`. */
export interface AttemptLog {
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

/** Digests text for Redis keys: keeps e-mail addresses out of Redis and the keys short. */
export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** An IPv6 client usually controls a whole /64, so the /64 counts as one address. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return digest(address);
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
