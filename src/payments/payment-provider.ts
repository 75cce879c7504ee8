import type { Micro } from '../common/micro';
import type { PaymentProviderName } from '../database/entities/purchase.entity';

/** What is to be paid, in US dollars. The same order gives the same checkout, however often it is asked for. */
export interface CheckoutOrder {
  readonly purchaseId: string;
  readonly organizationId: string;
  readonly amountMicro: Micro;
  /** Until when it can be paid. */
  readonly expiresAt: Date;
}

/** Where an order is paid. */
export interface Checkout {
  /** The provider's id of it. */
  readonly reference: string;
  readonly url: string;
}

/** Headers of a request, names in small letters. */
export type EventHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Whoever takes the money of customers. What it says is believed only when it is signed. */
export interface PaymentProvider {
  readonly name: PaymentProviderName;
  /** @throws CheckoutNotMadeError, or any other error when nobody knows whether it was made. */
  createCheckout(order: CheckoutOrder): Promise<Checkout>;
  /**
   * Verifies an event over the bytes as they came.
   * @throws GatewayError `validation_failed` when the signature is not that of the provider, or too old.
   */
  readEvent(rawBody: Buffer, headers: EventHeaders): Promise<PaymentEvent>;
}

/** The provider has certainly not made the checkout, and nobody can pay it. The message holds no secret. */
export class CheckoutNotMadeError extends Error {
  override readonly name = 'CheckoutNotMadeError';
}

export interface PaymentEvent {
  /** The provider's own: the same whenever it is sent. */
  readonly id: string;
  readonly type: string;
  /** `null`: nothing that concerns purchases. */
  readonly fact: PaymentFact | null;
}

/** What an event says has happened. Events come late, twice, and in any order. */
export type PaymentFact = PaidFact | NotPaidFact | RefundedFact | RefundFact | DisputedFact;

export interface PaidFact {
  readonly kind: 'paid';
  readonly purchaseId: string;
  /** As it was given with the order; `null`: not said. */
  readonly organizationId: string | null;
  readonly checkoutReference: string;
  readonly paymentReference: string;
  readonly amountMicro: Micro;
  /** In small letters. */
  readonly currency: string;
}

export interface NotPaidFact {
  readonly kind: 'not-paid';
  readonly purchaseId: string;
  readonly checkoutReference: string;
  /** `processing`: the buyer has done his part, and the money is on its way for days. */
  readonly state: 'processing' | 'failed' | 'expired';
}

export interface RefundedFact {
  readonly kind: 'refunded';
  /** As it was given with the order; `null`: not said, and the payment has to tell. */
  readonly purchaseId: string | null;
  readonly paymentReference: string;
  /** All that was paid back of the payment so far. Whether refunds that failed are part of it is the provider's secret. */
  readonly refundedMicro: Micro;
}

/** One refund of a payment, as it stands. */
export interface RefundFact {
  readonly kind: 'refund';
  readonly refundId: string;
  readonly paymentReference: string;
  readonly amountMicro: Micro;
  /** The bank has sent it back, or it was canceled: the buyer has not got it. Nothing comes after that. */
  readonly hasFailed: boolean;
}

export interface DisputedFact {
  readonly kind: 'disputed';
  readonly paymentReference: string;
  /** What the bank has taken back; 0 once it has returned it. */
  readonly disputedMicro: Micro;
  /** Milliseconds since the epoch: of two such facts the later one holds. */
  readonly saidAtMs: number;
}
