import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [network: Address, prefixLength: number];

const MAPPED_PREFIX_BITS = 96;

/**
 * The ranges a key may be used from, parsed once when the key is loaded. Addresses are compared as numbers, never as
 * text, and an IPv4 address in its IPv6-mapped spelling is the IPv4 address.
 */
export class AllowedIps {
  private constructor(private readonly ranges: readonly Range[]) {}

  /**
   * @param texts IPv4 or IPv6 addresses or CIDR ranges; bits behind the prefix are ignored.
   * @throws RangeError naming the entry that is neither.
   */
  static parse(texts: readonly string[]): AllowedIps {
    return new AllowedIps(
      texts.map((text) => {
        const range = parseRange(text);
        if (range === null) throw new RangeError(`"${text}" is not an IP address or CIDR range`);
        return range;
      }),
    );
  }

  /** `false` also for text that is no address: what cannot be understood is not allowed. */
  includes(addressText: string): boolean {
    const address = parseAddress(addressText);
    if (address === null) return false;
    return this.ranges.some(([network, prefixLength]) => matches(address, network, prefixLength));
  }
}

/**
 * One spelling per range, with the host bits cleared as PostgreSQL's `cidr` demands: `10.1.2.3/8` is `10.0.0.0/8`,
 * an address alone is a range of one. `null` when the text is neither an address nor a CIDR range.
 */
export function normalizeCidr(text: string): string | null {
  const range = parseRange(text);
  if (range === null) return null;
  const [address, prefixLength] = range;
  const cidr = `${address.toString()}/${prefixLength}`;
  const network =
    address.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  return `${network.toString()}/${prefixLength}`;
}

function matches(address: Address, network: Address, prefixLength: number): boolean {
  // ipaddr.js throws on a comparison across families.
  return address.kind() === network.kind() && address.match(network, prefixLength);
}

function parseRange(text: string): Range | null {
  const [addressText = '', prefixText, ...rest] = text.split('/');
  if (rest.length > 0 || addressText.includes('%')) return null;
  const family = isIP(addressText);
  const address = parseAddress(addressText);
  if (address === null) return null;
  const widthBits = family === 4 ? 32 : 128;
  const prefixLength = prefixText === undefined ? widthBits : parsePrefixLength(prefixText, widthBits);
  if (prefixLength === null) return null;
  if (family === 4 || address.kind() === 'ipv6') return [address, prefixLength];
  // A mapped range such as ::ffff:10.0.0.0/104; one wider than the mapped block would cover more than IPv4.
  return prefixLength >= MAPPED_PREFIX_BITS ? [address, prefixLength - MAPPED_PREFIX_BITS] : null;
}

function parsePrefixLength(text: string, widthBits: number): number | null {
  if (!/^(0|[1-9][0-9]{0,2})$/.test(text)) return null;
  const prefixLength = Number(text);
  return prefixLength <= widthBits ? prefixLength : null;
}

function parseAddress(text: string): Address | null {
  // node:net is strict where ipaddr.js also takes octal, hexadecimal and shortened IPv4.
  if (isIP(text) === 0) return null;
  const zoneAt = text.indexOf('%');
  return ipaddr.process(zoneAt === -1 ? text : text.slice(0, zoneAt));
}
