import * as fc from 'fast-check';
import { AddressPolicy, type AddressRules } from './address-policy';

const NOTHING: AddressRules = { allowCidrs: [], denyCidrs: [], nat64: false };
const policy = new AddressPolicy(NOTHING);

/** First and last address of every range that is blocked, as numbers: an independent definition of the ranges. */
const IPV4_INTERVALS = intervals([
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['168.63.129.16', '168.63.129.16'],
  ['169.254.0.0', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.31.196.0', '192.31.196.255'],
  ['192.52.193.0', '192.52.193.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['192.175.48.0', '192.175.48.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '239.255.255.255'],
  ['240.0.0.0', '255.255.255.255'],
]);
const IPV6_INTERVALS = intervals([
  ['::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  ['3ffe::', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
]);
/** Ranges within other blocked ranges. */
const WITHIN: [string, string][] = [
  ['::', '::'],
  ['::1', '::1'],
  ['::ffff:0:0', '::ffff:ffff:ffff'],
  ['::ffff:0:0:0', '::ffff:0:ffff:ffff'],
  ['64:ff9b::', '64:ff9b::ffff:ffff'],
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['100::', '100::ffff:ffff:ffff:ffff'],
  ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
];

type Interval = readonly [first: bigint, last: bigint];

const expected = (number: bigint, blocked: readonly Interval[]): string =>
  blocked.some(([first, last]) => number >= first && number <= last) ? 'blocked' : 'public';

describe('at both edges of every range, and one address beyond', () => {
  it.each(IPV4_INTERVALS.flatMap(edgesOf).filter(fits(32n)))('IPv4 number %s', (number) => {
    expect(policy.judge(toIpv4(number))).toBe(expected(number, IPV4_INTERVALS));
  });

  it.each([...IPV6_INTERVALS, ...intervals(WITHIN)].flatMap(edgesOf).filter(fits(128n)))('IPv6 number %s', (number) => {
    expect(policy.judge(toIpv6(number))).toBe(expected(number, IPV6_INTERVALS));
  });
});

describe('anywhere', () => {
  it('judges every IPv4 address by its range', () => {
    const near = IPV4_INTERVALS.flatMap(edgesOf).filter(fits(32n));
    const numbers = fc.oneof(fc.bigInt(0n, 2n ** 32n - 1n), fc.constantFrom(...near));
    const judgedRight = fc.property(numbers, (number) => {
      expect(policy.judge(toIpv4(number))).toBe(expected(number, IPV4_INTERVALS));
    });
    fc.assert(judgedRight, { numRuns: 5_000 });
  });

  it('judges every IPv6 address by its range, in any spelling', () => {
    const anywhere = fc.bigInt(0n, 2n ** 128n - 1n);
    const global = fc.bigInt(2n ** 125n, 2n ** 126n - 1n);
    const holes = IPV6_INTERVALS.map(([first, last]) => fc.bigInt(first, last));
    const judgedRight = fc.property(fc.oneof(anywhere, global, ...holes), (number) => {
      const short = new URL(`https://[${toIpv6(number)}]`).hostname.slice(1, -1);
      const verdict = expected(number, IPV6_INTERVALS);
      expect([policy.judge(toIpv6(number)), policy.judge(short)]).toEqual([verdict, verdict]);
    });
    fc.assert(judgedRight, { numRuns: 5_000 });
  });

  it('blocks IPv4 addresses embedded in IPv6 addresses', () => {
    const judgedRight = fc.property(fc.bigInt(0n, 2n ** 32n - 1n), (number) => {
      const last = `${(number >> 16n).toString(16)}:${(number & 0xffffn).toString(16)}`;
      const clothed = ['::ffff:', '::', '::ffff:0:', '64:ff9b::', '64:ff9b:1::'].map((prefix) => prefix + last);
      for (const text of [...clothed, `2002:${last}::1`]) expect(policy.judge(text)).toBe('blocked');
    });
    fc.assert(judgedRight);
  });
});

describe('text that is not a canonical IP address', () => {
  it.each([
    '',
    'example.com',
    '127.1',
    '0x7f000001',
    '017700000001',
    '2130706433',
    '1.2.3.4.5',
    ' 8.8.8.8',
    '8.8.8.8:53',
  ])('%j is blocked', (text) => expect([policy.judge(text), policy.judgeAnswer(text)]).toEqual(['blocked', 'blocked']));

  it('ignores the zone', () => {
    expect(policy.judge('fe80::1%eth0')).toBe('blocked');
    expect(policy.judge('2606:4700::1111%eth0')).toBe('public');
  });
});

describe('the lists of the operator', () => {
  const lists = new AddressPolicy({
    allowCidrs: ['10.1.0.0/16', 'fd00::/64', '::ffff:10.3.0.0/112'],
    denyCidrs: ['10.1.2.0/24', '8.8.8.0/24', '2606:4700::/32'],
    nat64: false,
  });

  it.each([
    ['10.1.0.1', 'allow-listed'],
    ['10.2.0.1', 'blocked'],
    ['10.3.0.1', 'allow-listed'],
    ['fd00::1', 'allow-listed'],
    ['fd00:0:0:1::1', 'blocked'],
    ['::ffff:10.1.0.1', 'blocked'],
    ['10.1.2.3', 'blocked'],
    ['8.8.8.8', 'blocked'],
    ['8.8.4.4', 'public'],
    ['2606:4700::1', 'blocked'],
  ])('%s is %s', (address, verdict) => {
    expect(lists.judge(address)).toBe(verdict);
  });

  it('refuses an invalid range', () => {
    expect(() => new AddressPolicy({ ...NOTHING, allowCidrs: ['10.0.0.0/33'] })).toThrow(RangeError);
  });
});

describe('NAT64', () => {
  const nat64 = new AddressPolicy({
    allowCidrs: ['10.1.0.0/16'],
    denyCidrs: ['64:ff9b::909:0/112', '1.1.1.1'],
    nat64: true,
  });

  it.each([
    ['64:ff9b::808:808', 'public'],
    ['64:ff9b::7f00:1', 'blocked'],
    ['64:ff9b::a9fe:a9fe', 'blocked'],
    ['64:ff9b::a01:1', 'allow-listed'],
    ['64:ff9b::a02:1', 'blocked'],
    ['64:ff9b::101:101', 'blocked'],
    ['64:ff9b::909:909', 'blocked'],
    ['64:ff9b:1::808:808', 'blocked'],
    ['64:ff9b::1:808:808', 'blocked'],
    ['8.8.8.8', 'public'],
    ['10.2.0.1', 'blocked'],
  ])('the answer %s is %s', (address, verdict) => {
    expect(nat64.judgeAnswer(address)).toBe(verdict);
  });

  it('applies to DNS answers only, and only when enabled', () => {
    expect(nat64.judge('64:ff9b::808:808')).toBe('blocked');
    expect(policy.judgeAnswer('64:ff9b::808:808')).toBe('blocked');
  });
});

function intervals(texts: readonly (readonly [string, string])[]): readonly Interval[] {
  return texts.map(([first, last]) => [toNumber(first), toNumber(last)]);
}

function edgesOf([first, last]: Interval): bigint[] {
  return [first - 1n, first, last, last + 1n];
}

function fits(bits: bigint): (number: bigint) => boolean {
  return (number) => number >= 0n && number < 1n << bits;
}

function toNumber(text: string): bigint {
  if (text.includes('.')) return text.split('.').reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const [head = '', tail = ''] = text.split('::');
  const groups = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const [left = [], right = []] = groups;
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right].reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

function toIpv4(number: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join('.');
}

function toIpv6(number: bigint): string {
  const digits = number.toString(16).padStart(32, '0');
  return (digits.match(/.{4}/g) ?? []).join(':');
}
