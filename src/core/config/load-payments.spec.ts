import { ConfigurationError, loadConfig } from './load-config';

const production = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://db.example/gateway',
  REDIS_URL: 'redis://cache.example',
  API_KEY_PEPPER: 'p'.repeat(32),
  SECRETS_KEY: '0'.repeat(64),
};
const keys = { STRIPE_SECRET_KEY: 'sk_test', STRIPE_WEBHOOK_SECRET: 'whsec' };

/** The names of the variables that are wrong. */
function problemsOf(environment: Record<string, string>): (string | undefined)[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems.map((problem) => problem.split(' ', 1)[0]);
    throw error;
  }
  return [];
}

describe('payments', () => {
  it('use Stripe with its keys, the test provider with embedded services, else no provider', () => {
    expect(loadConfig({}).payments).toEqual({
      provider: 'test',
      stripe: null,
      purchaseLimitDayMicro: 500_000_000,
      purchaseLimitMonthMicro: 5_000_000_000,
    });
    expect(loadConfig(production).payments.provider).toBe('none');
    expect(loadConfig({ ...production, ...keys }).payments).toMatchObject({
      provider: 'stripe',
      stripe: { secretKey: 'sk_test', webhookSecret: 'whsec', apiBaseUrl: null },
    });
    expect(loadConfig({ ...keys, PAYMENT_PROVIDER: 'none' }).payments.provider).toBe('none');
  });

  it('never use the test provider in production', () => {
    expect(problemsOf({ ...production, PAYMENT_PROVIDER: 'test' })).toEqual(['PAYMENT_PROVIDER']);
  });

  it('require both Stripe keys, and a base URL without a path', () => {
    expect(problemsOf({ PAYMENT_PROVIDER: 'stripe' })).toEqual(['STRIPE_SECRET_KEY']);
    expect(problemsOf({ STRIPE_SECRET_KEY: 'sk_test' })).toEqual(['STRIPE_WEBHOOK_SECRET']);
    expect(problemsOf({ ...keys, STRIPE_API_BASE_URL: 'https://proxy.example/stripe' })).toEqual([
      'STRIPE_API_BASE_URL',
    ]);
  });

  it('are not model providers', () => {
    const { providers } = loadConfig({ ...keys, STRIPE_API_BASE_URL: 'https://proxy.example' });
    expect(providers).not.toHaveProperty('STRIPE_API_BASE_URL');
  });
});
