import { isIP } from 'node:net';
import type { AddressPolicy } from './address-policy';
import { OutboundError } from './outbound-error';

const MAX_URL_CHARACTERS = 2_048;

/**
 * Characters that parsers drop, trim or interpret differently: control characters, white space, backslashes, lone
 * surrogates.
 */
const AMBIGUOUS = /[\p{Cc}\p{Cs}\s\\]/u;
const SCHEME_AND_HOST = /^https?:\/\/[^/?#]/i;
const USER_INFO = /^[^/]*\/\/[^/?#]*@/;
const EMPTY_LABEL = /^\.|\.\.|\.$/;

/** Names with a network-internal meaning, or none, including their subdomains. */
const SPECIAL_NAMES = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'home.arpa',
  'in-addr.arpa',
  'ip6.arpa',
  'onion',
  'invalid',
  'svc',
];

/** The list of the Fetch standard: services that could interpret lines of an HTTP request as commands. */
const BAD_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** The checks of a URL without a lookup. */
export class UrlRules {
  private readonly refusedNames: readonly string[];

  constructor(
    private readonly policy: AddressPolicy,
    denyHosts: readonly string[],
  ) {
    this.refusedNames = [...SPECIAL_NAMES, ...denyHosts];
  }

  /**
   * The URL with its normalized host, the only form that was judged: use `url.hostname`, never the text. A refused host
   * takes precedence over other faults.
   * @throws OutboundError `malformed`, `blocked`
   */
  parse(text: unknown): URL {
    if (typeof text !== 'string' || text.length > MAX_URL_CHARACTERS) throw new OutboundError('malformed');
    if (AMBIGUOUS.test(text) || !SCHEME_AND_HOST.test(text)) throw new OutboundError('malformed');
    const url = URL.parse(text);
    if (url === null) throw new OutboundError('malformed');
    url.hostname = hostOf(url);
    this.assertHost(url.hostname);
    if (BAD_PORTS.has(Number(url.port || 443))) throw new OutboundError('blocked');
    if (url.protocol !== 'https:' || USER_INFO.test(text)) throw new OutboundError('malformed');
    return url;
  }

  private assertHost(hostname: string): void {
    const literal = literalOf(hostname);
    if (literal !== null) {
      if (this.policy.judge(literal) === 'blocked') throw new OutboundError('blocked');
      return;
    }
    if (EMPTY_LABEL.test(hostname)) throw new OutboundError('malformed');
    const refused = this.refusedNames.some((name) => hostname === name || hostname.endsWith(`.${name}`));
    // A name without a dot belongs to the internal network.
    if (refused || !hostname.includes('.')) throw new OutboundError('blocked');
  }
}

/** The host of a URL, the same for all its spellings: `URL` normalizes it, except for a final dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

/** The IP address in a normalised host, without brackets; `null` for a name. */
export function literalOf(hostname: string): string | null {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  return isIP(hostname) === 0 ? null : hostname;
}
