import { AllowedIps } from '../../core/types/allowed-ips';
import type { StoredApiKey } from '../api-keys/api-key.repository';
import { AllowedIpGuard } from './key.guards';

function judge(key: Partial<StoredApiKey>, clientAddress: string | null): void {
  const stored = { organizationActive: true, allowedIps: null, ...key } as StoredApiKey;
  new AllowedIpGuard().judge(stored, { clientAddress });
}

const refusal = (message: RegExp) =>
  expect.objectContaining({ code: 'ip_not_allowed', message: expect.stringMatching(message) });

describe('AllowedIpGuard', () => {
  const allowedIps = AllowedIps.parse(['10.0.0.0/8']);

  it('refuses keys of an inactive organization, whatever their address', () => {
    expect(() => judge({ organizationActive: false, allowedIps }, '10.0.0.1')).toThrow(
      refusal(/organization .* not active/),
    );
  });

  it('refuses addresses outside allowed_ips and names them', () => {
    expect(() => judge({ allowedIps }, '11.0.0.1')).toThrow(refusal(/11\.0\.0\.1/));
  });

  it.each<[string, AllowedIps | null, string | null]>([
    ['an allowed address', allowedIps, '10.0.0.1'],
    ['an allowed IPv4-mapped address', allowedIps, '::ffff:10.0.0.2'],
    ['any address without allowed_ips', null, '11.0.0.1'],
    ['an explained request without an address', allowedIps, null],
  ])('accepts %s', (_what, ips, address) => {
    expect(() => judge({ allowedIps: ips }, address)).not.toThrow();
  });
});
