import ipaddr from 'ipaddr.js';
import { type IpRange, isInRange, parseIpAddress, parseIpRange } from './ip-range';

/**
 * The ranges a key may be used from, parsed once when the key is loaded. Addresses are compared as numbers, never as
 * text, and an IPv4 address in its IPv6-mapped spelling is the IPv4 address.
 */
export class AllowedIps {
  private constructor(private readonly ranges: readonly IpRange[]) {}

  /**
   * @param texts IPv4 or IPv6 addresses or CIDR ranges; bits behind the prefix are ignored.
   * @throws RangeError naming the entry that is neither.
   */
  static parse(texts: readonly string[]): AllowedIps {
    return new AllowedIps(
      texts.map((text) => {
        const range = parseIpRange(text);
        if (range === null) throw new RangeError(`"${text}" is not an IP address or CIDR range`);
        return range;
      }),
    );
  }

  /** `false` also for text that is not an IP address. */
  includes(addressText: string): boolean {
    const address = parseIpAddress(addressText);
    return address !== null && this.ranges.some((range) => isInRange(address, range));
  }
}

/**
 * One spelling per range, with the host bits cleared as PostgreSQL's `cidr` demands: `10.1.2.3/8` is `10.0.0.0/8`,
 * an address alone is a range of one. `null` when the text is neither an address nor a CIDR range.
 */
export function normalizeCidr(text: string): string | null {
  const range = parseIpRange(text);
  if (range === null) return null;
  const [address, prefixLength] = range;
  const cidr = `${address.toString()}/${prefixLength}`;
  const network =
    address.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  return `${network.toString()}/${prefixLength}`;
}
