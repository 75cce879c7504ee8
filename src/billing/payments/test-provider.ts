import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Checkout, CheckoutOrder, EventHeaders, PaymentEvent, PaymentProvider } from './payment-provider';

interface SignedEvent {
  readonly rawBody: Buffer;
  readonly headers: EventHeaders;
}

/** The body of an event. */
interface SignedOrder {
  readonly purchaseId: string;
  readonly organizationId: string;
  readonly amountMicro: string;
}

/**
 * A payment provider for trying out the gateway: the button on its page pays. Its events are signed and verified like
 * those of a real provider; its secret never leaves the process.
 */
export class TestProvider implements PaymentProvider {
  readonly name = 'test';
  private readonly secret = randomBytes(32);

  /** @param baseUrl URL of the gateway. */
  constructor(private readonly baseUrl: string) {}

  createCheckout({ purchaseId }: CheckoutOrder): Promise<Checkout> {
    const url = `${this.baseUrl}/dashboard/api/payments/test/${purchaseId}`;
    return Promise.resolve({ reference: checkoutOf(purchaseId), url });
  }

  /** Nothing to close: the page of a purchase that is not pending cannot be paid. */
  closeCheckout(): Promise<boolean> {
    return Promise.resolve(true);
  }

  /** The event for a fully paid order. */
  pay({ purchaseId, organizationId, amountMicro }: Omit<CheckoutOrder, 'expiresAt'>): SignedEvent {
    const order: SignedOrder = { purchaseId, organizationId, amountMicro: amountMicro.toString() };
    const rawBody = Buffer.from(JSON.stringify(order));
    return { rawBody, headers: { 'test-signature': this.sign(rawBody).toString('hex') } };
  }

  readEvent(rawBody: Buffer, headers: EventHeaders): Promise<PaymentEvent> {
    const given = Buffer.from(String(headers['test-signature']), 'hex');
    const expected = this.sign(rawBody);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      const refusal = new GatewayError('validation_failed', 'The signature of this event is wrong.');
      return Promise.reject(refusal);
    }
    const { purchaseId, organizationId, amountMicro } = JSON.parse(rawBody.toString()) as SignedOrder;
    return Promise.resolve({
      id: `test_event_${purchaseId}`,
      type: 'payment.succeeded',
      fact: {
        kind: 'paid',
        purchaseId,
        organizationId,
        checkoutReference: checkoutOf(purchaseId),
        paymentReference: `test_payment_${purchaseId}`,
        amountMicro: BigInt(amountMicro),
        currency: 'usd',
      },
    });
  }

  private sign(rawBody: Buffer): Buffer {
    return createHmac('sha256', this.secret).update(rawBody).digest();
  }
}

function checkoutOf(purchaseId: string): string {
  return `test_checkout_${purchaseId}`;
}
