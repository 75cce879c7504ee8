import { baseUrl, choice, integer, optional, secret } from './setting-kinds';

const MAX_AMOUNT = 999_999_999_999_999;

/** Credit purchases of organizations and their limits. */
export const PAYMENT_SETTINGS = {
  PAYMENT_PROVIDER: optional(choice(['none', 'test', 'stripe'])).describe(
    'Payment provider; when not set: stripe with STRIPE_SECRET_KEY, test with the embedded services, else none',
  ),
  STRIPE_SECRET_KEY: optional(secret()).describe('Secret key of the Stripe account'),
  STRIPE_WEBHOOK_SECRET: optional(secret()).describe(
    'Verifies Stripe events at /dashboard/api/payments/stripe/events; required with STRIPE_SECRET_KEY',
  ),
  STRIPE_API_BASE_URL: optional(baseUrl).describe('Another server with the Stripe API, such as a proxy'),
  PURCHASE_LIMIT_DAY_MICRO: integer(0, MAX_AMOUNT)
    .default(500_000_000)
    .describe(
      'Credit in micro-units that an organization may buy in a day (UTC); operators can set other limits for it',
    ),
  PURCHASE_LIMIT_MONTH_MICRO: integer(0, MAX_AMOUNT)
    .default(5_000_000_000)
    .describe('Credit in micro-units that an organization may buy in a calendar month (UTC)'),
};
