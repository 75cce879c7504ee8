import { systemClock } from '../common/clock';
import { loadConfig } from '../config/load-config';
import { PaymentProviders } from './payment-providers';

const keys = { STRIPE_SECRET_KEY: 'sk_test', STRIPE_WEBHOOK_SECRET: 'whsec' };
const make = (environment: Record<string, string>): PaymentProviders =>
  new PaymentProviders(loadConfig(environment), systemClock);

describe('PaymentProviders', () => {
  it('sells through whoever was chosen', () => {
    expect(make({}).requireSeller().name).toBe('test');
    expect(make(keys).requireSeller().name).toBe('stripe');
    expect(make({ ...keys, PAYMENT_PROVIDER: 'test' }).requireSeller().name).toBe('test');
  });

  it('sells nothing where nobody was chosen, and goes on believing Stripe for what was sold before', () => {
    const providers = make({ ...keys, PAYMENT_PROVIDER: 'none' });
    expect(providers.canSell).toBe(false);
    expect(() => providers.requireSeller()).toThrow(expect.objectContaining({ code: 'not_configured' }));
    expect(providers.require('stripe').name).toBe('stripe');
  });

  it('has no page of the test provider where that does not sell', () => {
    expect(() => make(keys).require('test')).toThrow(expect.objectContaining({ code: 'not_configured' }));
  });
});
