import { baseUrl, choice, integer, secret } from './setting';

const MAX_AMOUNT = 999_999_999_999_999;

/** How organizations buy credit, and how much of it. */
export const PAYMENT_SETTINGS = {
  paymentProvider: choice(
    'PAYMENT_PROVIDER',
    ['none', 'test', 'stripe'],
    null,
    'Sells credit; when not set stripe with STRIPE_SECRET_KEY, test with the embedded services, else none',
  ),
  stripeSecretKey: secret('STRIPE_SECRET_KEY', 'Key of the Stripe account that sells credit'),
  stripeWebhookSecret: secret(
    'STRIPE_WEBHOOK_SECRET',
    'Verifies what Stripe sends to /dashboard/api/payments/stripe/events; STRIPE_SECRET_KEY requires it',
  ),
  stripeApiBaseUrl: baseUrl('STRIPE_API_BASE_URL', 'Another server with the API of Stripe, such as a proxy'),
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
