import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/core/time/clock';
import { CheckoutNotMadeError } from '../../../src/billing/payments/payment-provider';
import { StripeProvider } from '../../../src/billing/payments/stripe-provider';
import { STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, StripeServer, send } from '../../harness/stripe-server';

let stripe: StripeServer;
beforeAll(async () => {
  stripe = await StripeServer.start();
});
afterAll(() => stripe.stop());

const order = () => ({
  purchaseId: randomUUID(),
  organizationId: randomUUID(),
  amountMicro: 10_000_000n,
  expiresAt: new Date(),
});

function provider({ apiBaseUrl = stripe.url, secretKey = STRIPE_SECRET_KEY, timeoutMs = 10_000 } = {}): StripeProvider {
  const account = { secretKey, webhookSecret: STRIPE_WEBHOOK_SECRET, apiBaseUrl };
  return new StripeProvider(account, 'https://console.example.com', systemClock, timeoutMs);
}

describe('StripeProvider', () => {
  it('throws CheckoutNotMadeError when the connection is refused', async () => {
    const unreachable = provider({ apiBaseUrl: 'http://127.0.0.1:1' });
    await expect(unreachable.createCheckout(order())).rejects.toBeInstanceOf(CheckoutNotMadeError);
  });

  it.each([400, 401, 402, 403, 404, 429])('throws CheckoutNotMadeError after status %d', async (status) => {
    stripe.answerOnce((_asked, reply) => send(reply, status, { error: { type: 'invalid_request_error' } }));
    await expect(provider().createCheckout(order())).rejects.toBeInstanceOf(CheckoutNotMadeError);
  });

  it.each([409, 500, 502, 503])('throws an error of unknown outcome after status %d', async (status) => {
    stripe.answerOnce((_asked, reply) => send(reply, status, { error: { type: 'api_error' } }));
    const failure = provider().createCheckout(order());
    await expect(failure).rejects.toThrow();
    await expect(failure).rejects.not.toBeInstanceOf(CheckoutNotMadeError);
  });

  it('times out with an unknown outcome when Stripe streams bytes endlessly', async () => {
    const begun = Promise.withResolvers<NodeJS.Timeout>();
    stripe.answerOnce((_asked, reply) => {
      reply.writeHead(200, { 'content-type': 'application/json' });
      begun.resolve(setInterval(() => reply.write(' '), 10));
    });
    const failure = provider({ timeoutMs: 200 }).createCheckout(order());
    await expect(failure).rejects.toThrow('Stripe has not answered in time');
    // On a stalled machine the request arrives only now.
    clearInterval(await begun.promise);
  });

  it('omits the error message of Stripe, which contains parts of keys', async () => {
    const refused = await provider({ secretKey: 'sk_live_wrong' })
      .createCheckout(order())
      .catch((error: Error) => error.message);
    expect(refused).toBe('Stripe has refused the checkout (StripeAuthenticationError, 401)');
  });
});
