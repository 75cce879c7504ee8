import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/common/clock';
import { CheckoutNotMadeError } from '../../../src/payments/payment-provider';
import { StripeProvider } from '../../../src/payments/stripe-provider';
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
  it('knows that nothing was made where nobody listens', async () => {
    const nobody = provider({ apiBaseUrl: 'http://127.0.0.1:1' });
    await expect(nobody.createCheckout(order())).rejects.toBeInstanceOf(CheckoutNotMadeError);
  });

  it.each([400, 401, 402, 403, 404, 429])('knows that nothing was made after an answer of %d', async (status) => {
    stripe.answerOnce((_asked, reply) => send(reply, status, { error: { type: 'invalid_request_error' } }));
    await expect(provider().createCheckout(order())).rejects.toBeInstanceOf(CheckoutNotMadeError);
  });

  it.each([409, 500, 502, 503])('does not know what was made after an answer of %d', async (status) => {
    stripe.answerOnce((_asked, reply) => send(reply, status, { error: { type: 'api_error' } }));
    const failure = provider().createCheckout(order());
    await expect(failure).rejects.toThrow();
    await expect(failure).rejects.not.toBeInstanceOf(CheckoutNotMadeError);
  });

  it('gives up a Stripe that sends bytes for ever, and does not know what it has made', async () => {
    let drip: NodeJS.Timeout | undefined;
    stripe.answerOnce((_asked, reply) => {
      reply.writeHead(200, { 'content-type': 'application/json' });
      drip = setInterval(() => reply.write(' '), 10);
    });
    const failure = provider({ timeoutMs: 200 }).createCheckout(order());
    await expect(failure).rejects.toThrow('Stripe has not answered in time');
    clearInterval(drip);
  });

  it('says nothing of what Stripe has said, which names parts of keys', async () => {
    const refused = await provider({ secretKey: 'sk_live_wrong' })
      .createCheckout(order())
      .catch((error: Error) => error.message);
    expect(refused).toBe('Stripe has refused the checkout (StripeAuthenticationError, 401)');
  });
});
