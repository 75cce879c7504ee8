import { systemClock } from '../../core/time/clock';
import { loadConfig } from '../../core/config/load-config';
import { PaymentProviders } from './payment-providers';

const keys = { STRIPE_SECRET_KEY: 'sk_test', STRIPE_WEBHOOK_SECRET: 'whsec' };
const make = (environment: Record<string, string>): PaymentProviders =>
  new PaymentProviders(loadConfig(environment), systemClock);

describe('PaymentProviders', () => {
  it('sells through the configured provider', () => {
    expect(make({}).requireSeller().name).toBe('test');
    expect(make(keys).requireSeller().name).toBe('stripe');
    expect(make({ ...keys, PAYMENT_PROVIDER: 'test' }).requireSeller().name).toBe('test');
  });

  it('sells nothing without a configured provider, but still accepts Stripe events', () => {
    const providers = make({ ...keys, PAYMENT_PROVIDER: 'none' });
    expect(providers.canSell).toBe(false);
    expect(() => providers.requireSeller()).toThrow(expect.objectContaining({ code: 'not_configured' }));
    expect(providers.require('stripe').name).toBe('stripe');
  });

  it('serves no test provider page unless the test provider sells', () => {
    expect(() => make(keys).require('test')).toThrow(expect.objectContaining({ code: 'not_configured' }));
  });
});
