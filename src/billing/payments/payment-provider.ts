import type { Micro } from '../../core/types/micro';
import type { PaymentProviderName } from '../../core/database/entities/purchase.entity';

/** An amount to pay in US dollars. Idempotent: the same order always yields the same checkout. */
export interface CheckoutOrder {
  readonly purchaseId: string;
  readonly organizationId: string;
  readonly amountMicro: Micro;
  /** Until when it can be paid. */
  readonly expiresAt: Date;
}

/** The page where an order is paid. */
export interface Checkout {
  /** The provider's id of the checkout. */
  readonly reference: string;
  readonly url: string;
}

/** Request headers with lowercase names. */
export type EventHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A payment provider. Only its signed events are trusted. */
export interface PaymentProvider {
  readonly name: PaymentProviderName;
  /** @throws CheckoutNotMadeError, or any other error when it is unknown whether the checkout was created. */
  createCheckout(order: CheckoutOrder): Promise<Checkout>;
  /**
   * Closes the checkout of an order so that it cannot be paid.
   * @param reference the provider's id of the checkout; `null`: unknown, and there may be none.
   * @returns `false`: too late, the order is paid or being paid.
   * @throws Error when the outcome is unknown.
   */
  closeCheckout(order: CheckoutOrder, reference: string | null): Promise<boolean>;
  /**
   * Verifies an event over its raw bytes.
   * @throws GatewayError `validation_failed` when the signature is invalid or too old.
   */
  readEvent(rawBody: Buffer, headers: EventHeaders): Promise<PaymentEvent>;
}

/** The provider has certainly not created the checkout, so it cannot be paid. The message holds no secret. */
export class CheckoutNotMadeError extends Error {
  override readonly name = 'CheckoutNotMadeError';
}

export interface PaymentEvent {
  /** The provider's id: the same for every delivery. */
  readonly id: string;
  readonly type: string;
  /** `null`: not about purchases. */
  readonly fact: PaymentFact | null;
}

/** The content of an event. Events arrive late, repeatedly and in any order. */
export type PaymentFact = PaidFact | NotPaidFact | RefundedFact | RefundFact | DisputedFact;

export interface PaidFact {
  readonly kind: 'paid';
  readonly purchaseId: string;
  /** From the order's metadata; `null`: absent. */
  readonly organizationId: string | null;
  readonly checkoutReference: string;
  readonly paymentReference: string;
  readonly amountMicro: Micro;
  /** Lowercase. */
  readonly currency: string;
}

export interface NotPaidFact {
  readonly kind: 'not-paid';
  readonly purchaseId: string;
  readonly checkoutReference: string;
  /** `processing`: the buyer has paid by a method that takes days. */
  readonly state: 'processing' | 'failed' | 'expired';
}

export interface RefundedFact {
  readonly kind: 'refunded';
  /** From the order's metadata; `null`: absent, the payment identifies the purchase. */
  readonly purchaseId: string | null;
  readonly paymentReference: string;
  /** Total refunded so far. The provider does not specify whether failed refunds are included. */
  readonly refundedMicro: Micro;
}

/** The current state of one refund. */
export interface RefundFact {
  readonly kind: 'refund';
  readonly refundId: string;
  readonly paymentReference: string;
  readonly amountMicro: Micro;
  /** The bank returned it or it was canceled: the buyer did not receive it. Final. */
  readonly hasFailed: boolean;
}

/** The current state of one dispute; a payment can have several. */
export interface DisputedFact {
  readonly kind: 'disputed';
  readonly disputeId: string;
  readonly paymentReference: string;
  /** The amount withheld by the bank because of this dispute; 0 once it is reinstated. */
  readonly withheldMicro: Micro;
  /** Milliseconds since the epoch: the latest fact of a dispute applies. */
  readonly reportedAtMs: number;
}
