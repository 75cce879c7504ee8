import { isIPv4 } from 'node:net';
import { AllowedIps } from '../types/allowed-ips';
import { parseIpAddress } from '../types/ip-range';
import type { AppConfig } from '../config/app-config';

/** The value for text that is not an IP address: a proxy's `unknown`, or an empty one of a closed connection. */
const UNKNOWN = 'unknown';
const BRACKETED = /^\[([^\]]*)\](?::\d+)?$/;
const IPV4_WITH_PORT = /^([\d.]+):\d+$/;

type TrustProxy = false | ((address: string | undefined, hop: number) => boolean);

/**
 * The canonical client IP address, so that per-address counters count each caller once.
 * @param text from the connection or `X-Forwarded-For`, where some proxies append the port
 * @returns IPv4 or IPv6, an IPv4-mapped address as IPv4; `unknown` for any other text
 */
export function toClientAddress(text: string | undefined): string {
  // The common case needs no rewriting.
  if (text !== undefined && isIPv4(text)) return text;
  return parseIpAddress(withoutPort(text))?.toString() ?? UNKNOWN;
}

/** The proxies that Fastify trusts: behind a trusted proxy, the forwarded address counts. */
export function toTrustProxy(trustProxy: AppConfig['http']['trustProxy']): TrustProxy {
  if (trustProxy === false) return false;
  if (typeof trustProxy === 'number') return (_address, hop) => hop < trustProxy;
  const proxies = AllowedIps.parse(trustProxy);
  return (address) => proxies.includes(withoutPort(address));
}

function withoutPort(text = ''): string {
  const [, address] = BRACKETED.exec(text) ?? IPV4_WITH_PORT.exec(text) ?? [];
  return address ?? text;
}
