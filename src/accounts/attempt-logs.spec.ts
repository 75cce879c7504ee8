import { loginLogOfAccount, networkOf } from './attempt-logs';

describe('what attempts are counted by', () => {
  it('is the address of IPv4, however it is written, and the network of IPv6', () => {
    expect(networkOf('203.0.113.7')).toBe('203.0.113.7');
    expect(networkOf('::ffff:203.0.113.7')).toBe('203.0.113.7');
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
    expect(networkOf('2001:db8:1:2::9')).toBe('2001:db8:1:2::/64');
    expect(networkOf('2001:db8:1:3::9')).not.toBe('2001:db8:1:2::/64');
  });

  it('is never an e-mail in clear', () => {
    expect(loginLogOfAccount('ada@example.com').key).not.toContain('ada');
  });
});
