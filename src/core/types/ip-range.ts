import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;
export type IpRange = readonly [network: IpAddress, prefixLength: number];

const MAPPED_PREFIX_BITS = 96;

/**
 * An IPv4 or IPv6 address or CIDR range; bits behind the prefix are ignored, and a range of IPv4-mapped addresses is
 * the range of the IPv4 addresses. `null`: neither.
 */
export function parseIpRange(text: string): IpRange | null {
  const [addressText = '', prefixText, ...rest] = text.split('/');
  if (rest.length > 0 || addressText.includes('%')) return null;
  const family = isIP(addressText);
  const address = parseIpAddress(addressText);
  if (address === null) return null;
  const widthBits = family === 4 ? 32 : 128;
  const prefixLength = prefixText === undefined ? widthBits : parsePrefixLength(prefixText, widthBits);
  if (prefixLength === null) return null;
  if (family === 4 || address.kind() === 'ipv6') return [address, prefixLength];
  // A mapped range such as ::ffff:10.0.0.0/104; one wider than the mapped block would cover more than IPv4.
  return prefixLength >= MAPPED_PREFIX_BITS ? [address, prefixLength - MAPPED_PREFIX_BITS] : null;
}

/** An address in its usual spelling, an IPv4-mapped one as the IPv4 address; `null` for any other text. */
export function parseIpAddress(text: string): IpAddress | null {
  // node:net is strict where ipaddr.js also takes octal, hexadecimal and shortened IPv4.
  if (isIP(text) === 0) return null;
  const zoneAt = text.indexOf('%');
  return ipaddr.process(zoneAt === -1 ? text : text.slice(0, zoneAt));
}

export function isInRange(address: IpAddress, [network, prefixLength]: IpRange): boolean {
  // ipaddr.js throws on a comparison across families.
  return address.kind() === network.kind() && address.match(network, prefixLength);
}

function parsePrefixLength(text: string, widthBits: number): number | null {
  if (!/^(0|[1-9][0-9]{0,2})$/.test(text)) return null;
  const prefixLength = Number(text);
  return prefixLength <= widthBits ? prefixLength : null;
}
