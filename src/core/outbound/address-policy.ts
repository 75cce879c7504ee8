import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type IpAddress, type IpRange, isInRange, parseIpRange } from '../types/ip-range';

/** Ranges that are not, or only nominally, public internet. */
const BLOCKED_IPV4 = ranges(
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '168.63.129.16/32', // services of the Azure host
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments, Oracle's metadata
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
);

/** The ranges of the public internet: everything outside is blocked. */
const GLOBAL_IPV6 = ranges('2000::/3');

/** Blocked exceptions within those ranges, mostly embedded IPv4 addresses. */
const BLOCKED_IPV6 = ranges(
  '2001::/23', // Teredo, ORCHID, benchmarking, AMT
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3ffe::/16', // 6bone
  '3fff::/20', // documentation
);

/** The well-known prefix of NAT64: an IPv4 address in the last 32 bits. */
const NAT64 = ranges('64:ff9b::/96');

export interface AddressRules {
  /** CIDR ranges that are allowed although they are not public. */
  readonly allowCidrs: readonly string[];
  /** CIDR ranges that are denied although they are public or allowed. */
  readonly denyCidrs: readonly string[];
  /** Whether the network uses DNS64, which synthesizes addresses for IPv4 hosts. */
  readonly nat64: boolean;
}

/** `allow-listed`: allowed only by the operator's settings. */
export type AddressVerdict = 'public' | 'allow-listed' | 'blocked';

/** Judges IP addresses by their numeric value, never by their text. */
export class AddressPolicy {
  private readonly allowed: readonly IpRange[];
  private readonly denied: readonly IpRange[];
  private readonly nat64: boolean;

  constructor({ allowCidrs, denyCidrs, nat64 }: AddressRules) {
    this.allowed = ranges(...allowCidrs);
    this.denied = ranges(...denyCidrs);
    this.nat64 = nat64;
  }

  /** An address from user input. Text that is not an IP address is blocked. */
  judge(text: string): AddressVerdict {
    const address = parse(text);
    return address === null ? 'blocked' : this.judgeAddress(address);
  }

  /** A DNS answer, or the peer of a socket opened to one: only these may be NAT64 addresses. */
  judgeAnswer(text: string): AddressVerdict {
    const address = parse(text);
    if (address === null) return 'blocked';
    if (!this.nat64 || !isInAny(address, NAT64)) return this.judgeAddress(address);
    return isInAny(address, this.denied) ? 'blocked' : this.judgeAddress(lastFourBytes(address));
  }

  private judgeAddress(address: IpAddress): AddressVerdict {
    if (isInAny(address, this.denied)) return 'blocked';
    if (isInAny(address, this.allowed)) return 'allow-listed';
    return isPublic(address) ? 'public' : 'blocked';
  }
}

function isPublic(address: IpAddress): boolean {
  if (address.kind() === 'ipv4') return !isInAny(address, BLOCKED_IPV4);
  return isInAny(address, GLOBAL_IPV6) && !isInAny(address, BLOCKED_IPV6);
}

/** Unlike `parseIpAddress`, IPv4-mapped addresses are not converted: they have no legitimate use here. */
function parse(text: string): IpAddress | null {
  return isIP(text) === 0 ? null : ipaddr.parse(text.replace(/%.*/s, ''));
}

function lastFourBytes(address: IpAddress): IpAddress {
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}

function isInAny(address: IpAddress, list: readonly IpRange[]): boolean {
  return list.some((range) => isInRange(address, range));
}

function ranges(...texts: string[]): readonly IpRange[] {
  return texts.map((text) => {
    const range = parseIpRange(text);
    if (range === null) throw new RangeError(`"${text}" is not an IP address or CIDR range`);
    return range;
  });
}
