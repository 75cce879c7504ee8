import { AllowedIps, normalizeCidr } from './allowed-ips';

describe('AllowedIps', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.7', '203.0.113.8', false],
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.1.2.3/8', '10.9.9.9', true],
    ['192.168.1.128/25', '192.168.1.127', false],
    ['192.168.1.128/25', '192.168.1.128', true],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '10.0.0.1', false],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['2001:DB8:0:0::/33', '2001:db8:7fff::', true],
    ['2001:db8::/33', '2001:db8:8000::', false],
    ['::1', '0:0:0:0:0:0:0:1', true],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '::ffff:a01:203', true],
    ['10.0.0.0/8', '::ffff:11.1.2.3', false],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '::ffff:10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '11.1.2.3', false],
    ['::ffff:10.0.0.1', '10.0.0.1', true],
    ['fe80::/10', 'fe80::1%eth0', true],
    ['10.0.0.0/8', '10.1.2.3:443', false],
    ['10.0.0.0/8', '0xa.1.2.3', false],
    ['10.0.0.0/8', '012.1.2.3', false],
    ['10.0.0.0/8', '167838211', false],
    ['10.0.0.0/8', '', false],
    ['10.0.0.0/8', 'unknown', false],
  ])('%s includes %s: %s', (range, address, expected) => {
    expect(AllowedIps.parse([range]).includes(address)).toBe(expected);
  });

  it('admits an address within any of its ranges', () => {
    const allowed = AllowedIps.parse(['10.0.0.0/8', '2001:db8::/32']);
    expect(['10.0.0.1', '2001:db8::1', '192.0.2.1'].map((address) => allowed.includes(address))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('admits no address when it is empty', () => {
    expect(AllowedIps.parse([]).includes('10.0.0.1')).toBe(false);
  });

  it.each([
    '',
    'example.com',
    '10.0.0.0/33',
    '10.0.0/8',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '010.0.0.1',
    '10.0.0.0/',
    '/8',
    '::/129',
    'fe80::1%eth0',
    '::ffff:0:0/95',
    '10.0.0.1-10.0.0.9',
    '1',
    ' 10.0.0.1',
  ])('refuses %j as a range', (text) => {
    expect(() => AllowedIps.parse([text])).toThrow(RangeError);
    expect(normalizeCidr(text)).toBeNull();
  });

  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['203.0.113.7', '203.0.113.7/32'],
    ['2001:DB8:0::1/32', '2001:db8::/32'],
    ['::1', '::1/128'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
  ])('writes %s as %s', (text, expected) => {
    expect(normalizeCidr(text)).toBe(expected);
  });
});
