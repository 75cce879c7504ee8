import { networkOf } from '../../auth/rate-limits/attempt-log';
import { loginLogsOf, mailLogsOfEmail } from './attempt-logs';

describe('attempt log keys', () => {
  it('use the IPv4 address in any notation, and the /64 network of IPv6', () => {
    expect(networkOf('203.0.113.7')).toBe('203.0.113.7');
    expect(networkOf('::ffff:203.0.113.7')).toBe('203.0.113.7');
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
    expect(networkOf('2001:db8:1:2::9')).toBe('2001:db8:1:2::/64');
    expect(networkOf('2001:db8:1:3::9')).not.toBe('2001:db8:1:2::/64');
  });

  it('never contain an e-mail in clear text', () => {
    const history = { isKnownNetwork: false, resetId: null };
    const { pair, others } = loginLogsOf('ada@example.com', '203.0.113.7', history, 100);
    const logs = [pair, ...others, ...mailLogsOfEmail('invitation', 'ada@example.com', 'sender')];
    expect(logs.map(({ key }) => key).join(' ')).not.toContain('ada');
  });
});
