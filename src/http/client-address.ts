import { isIPv4 } from 'node:net';
import { AllowedIps } from '../auth/allowed-ips';
import { parseIpAddress } from '../common/ip-range';
import type { AppConfig } from '../config/app-config';

/** What stands for text that is no address: a proxy's `unknown`, or nothing, when the connection is gone. */
const UNKNOWN = 'unknown';
const BRACKETED = /^\[([^\]]*)\](?::\d+)?$/;
const IPV4_WITH_PORT = /^([\d.]+):\d+$/;

type TrustProxy = false | ((address: string | undefined, hop: number) => boolean);

/**
 * Where a request comes from, in one spelling: what counts by address must not count one caller as many.
 * @param text of the connection or from `X-Forwarded-For`, to which some proxies add the port
 * @returns IPv4 or IPv6, an IPv4-mapped address as IPv4; `unknown` for any other text
 */
export function toClientAddress(text: string | undefined): string {
  // Nearly always, and then there is nothing to rewrite.
  if (text !== undefined && isIPv4(text)) return text;
  return parseIpAddress(withoutPort(text))?.toString() ?? UNKNOWN;
}

/** Which proxies Fastify believes: of one that is believed, the address behind it counts. */
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
