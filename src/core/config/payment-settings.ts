import { baseUrl, choice, integer, secret } from './setting';

const MAX_AMOUNT = 999_999_999_999_999;

/** Credit purchases of organizations and their limits. */
export const PAYMENT_SETTINGS = {
  paymentProvider: choice(
    'PAYMENT_PROVIDER',
    ['none', 'test', 'stripe'],
    null,
    'Payment provider; when not set: stripe with STRIPE_SECRET_KEY, test with the embedded services, else none',
  ),
  stripeSecretKey: secret('STRIPE_SECRET_KEY', 'Secret key of the Stripe account'),
  stripeWebhookSecret: secret(
    'STRIPE_WEBHOOK_SECRET',
    'Verifies Stripe events at /dashboard/api/payments/stripe/events; required with STRIPE_SECRET_KEY',
  ),
  stripeApiBaseUrl: baseUrl('STRIPE_API_BASE_URL', 'Another server with the Stripe API, such as a proxy'),
  purchaseLimitDayMicro: integer(
    'PURCHASE_LIMIT_DAY_MICRO',
    { min: 0, max: MAX_AMOUNT, fallback: 500_000_000 },
    'Credit in micro-units that an organization may buy in a day (UTC), unless operators say otherwise',
  ),
  purchaseLimitMonthMicro: integer(
    'PURCHASE_LIMIT_MONTH_MICRO',
    { min: 0, max: MAX_AMOUNT, fallback: 5_000_000_000 },
    'The same for a calendar month (UTC)',
  ),
};
