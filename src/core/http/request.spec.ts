import { toClientAddress, toTrustProxy } from './request';

describe('toClientAddress', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:50123', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:50123', '203.0.113.7'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:50123', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('reads %s as %s', (text, address) => {
    expect(toClientAddress(text)).toBe(address);
  });

  it.each([
    undefined,
    '',
    'unknown',
    '_hidden',
    '203.0.113',
    '203.0.113.7:',
    '203.0.113.7:1:2',
    '[203.0.113.7',
    '0x7f.1',
  ])('rejects %j as an address', (text) => expect(toClientAddress(text)).toBe('unknown'));
});

describe('toTrustProxy', () => {
  it('trusts no proxy by default', () => {
    expect(toTrustProxy(false)).toBe(false);
  });

  it('trusts the configured number of proxies', () => {
    const trust = toTrustProxy(2) as (address: string, hop: number) => boolean;
    expect([0, 1, 2].map((hop) => trust('203.0.113.7', hop))).toEqual([true, true, false]);
  });

  it.each([
    ['10.1.2.3', true],
    ['10.1.2.3:50123', true],
    ['::ffff:10.1.2.3', true],
    ['[fd00::7]:50123', true],
    ['11.1.2.3', false],
    ['fd00::8', false],
    ['10.0.0.0/8', false],
    ['localhost', false],
    [undefined, false],
  ])('with 10.0.0.0/8 and fd00::7 trusted, trusts %s: %s', (address, isTrusted) => {
    const trust = toTrustProxy(['10.0.0.0/8', 'fd00::7']) as (address: string | undefined, hop: number) => boolean;
    expect(trust(address, 0)).toBe(isTrusted);
  });
});
