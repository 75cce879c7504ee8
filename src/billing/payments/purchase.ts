import type { PaymentProviderName, PurchaseEntity, PurchaseState } from '../../core/database/entities/purchase.entity';
import type { Micro } from '../../core/types/micro';
import type { NotPaidFact, PaidFact, PaymentFact, RefundedFact } from './payment-provider';

/** A purchase of credit with its amounts as `bigint`: see `PurchaseEntity`. */
export interface Purchase {
  readonly id: string;
  readonly organizationId: string;
  readonly userId: string | null;
  readonly provider: PaymentProviderName;
  readonly state: PurchaseState;
  readonly amountMicro: Micro;
  readonly checkoutReference: string | null;
  readonly checkoutUrl: string | null;
  readonly paymentReference: string | null;
  readonly failure: string | null;
  readonly refundedMicro: Micro;
  readonly highestRefundedMicro: Micro;
  readonly disputedMicro: Micro;
  readonly owedMicro: Micro;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly endedAt: Date | null;
  readonly reviewedAt: Date | null;
}

export function toPurchase(entity: PurchaseEntity): Purchase {
  const { idempotencyKey: _key, ...rest } = entity;
  return {
    ...rest,
    amountMicro: BigInt(entity.amountMicro),
    refundedMicro: BigInt(entity.refundedMicro),
    highestRefundedMicro: BigInt(entity.highestRefundedMicro),
    disputedMicro: BigInt(entity.disputedMicro),
    owedMicro: BigInt(entity.owedMicro),
  };
}

/** The amount refunded to the buyer or withdrawn by the bank: never more than was paid. */
export function takenBackMicro({ state, amountMicro, refundedMicro, disputedMicro }: Purchase): Micro {
  if (state !== 'paid') return 0n;
  const total = refundedMicro + disputedMicro;
  return total < amountMicro ? total : amountMicro;
}

/** The condition of `NEEDS_REVIEW`: a person has to look at the payment. */
export function needsReview({ state, failure, owedMicro, reviewedAt }: Purchase): boolean {
  if (reviewedAt !== null) return false;
  return state === 'mismatch' || (state === 'paid' && failure !== null) || owedMicro > 0n;
}

/** The ledger reference of a payment. */
export function paymentReferenceOf({ provider, paymentReference }: Purchase): string {
  return `${provider}:${paymentReference}`;
}

/**
 * The effect of an event on a purchase. `mismatch`: the payment differs from the order; `refund_failed`: less was paid
 * back than reported before; `nothing`: the event is a repetition or outdated.
 */
export type PaymentOutcome = 'paid' | 'not_paid' | 'mismatch' | 'refunded' | 'refund_failed' | 'disputed' | 'nothing';

export interface AppliedFact {
  readonly purchase: Purchase;
  readonly outcome: PaymentOutcome;
}

/** Sums of all refunds and disputes of a payment that were reported individually, including the one of the event. */
export interface KnownReversals {
  readonly refundedMicro: Micro;
  readonly failedRefundsMicro: Micro;
  /** Withheld by the bank in all disputes together. */
  readonly disputedMicro: Micro;
}

export const NO_REVERSALS: KnownReversals = { refundedMicro: 0n, failedRefundsMicro: 0n, disputedMicro: 0n };

/**
 * The purchase after an event, for any order of events: a payment that matches the order counts even if the order has
 * expired, since the money has arrived; refunds are recorded even before the payment is known.
 */
export function applyPaymentFact(
  purchase: Purchase,
  fact: PaymentFact,
  reversals: KnownReversals,
  now: Date,
): AppliedFact {
  switch (fact.kind) {
    case 'paid':
      return applyPaid(purchase, fact, reversals, now);
    case 'not-paid':
      return applyNotPaid(purchase, fact, now);
    case 'refunded':
      return applyRefunded(purchase, fact, reversals);
    case 'refund':
      return applyRefunds(purchase, reversals);
    case 'disputed':
      return applyDisputed(purchase, reversals);
  }
}

function applyPaid(purchase: Purchase, fact: PaidFact, reversals: KnownReversals, now: Date): AppliedFact {
  const { paymentReference, checkoutReference } = fact;
  if (purchase.state === 'paid') {
    if (purchase.paymentReference === paymentReference) return { purchase, outcome: 'nothing' };
    return { purchase: { ...purchase, failure: 'It was paid a second time.' }, outcome: 'mismatch' };
  }
  const failure = findMismatch(purchase, fact);
  if (failure !== null)
    return { purchase: { ...purchase, state: 'mismatch', failure, endedAt: now }, outcome: 'mismatch' };
  const paid = {
    ...purchase,
    state: 'paid',
    paymentReference,
    checkoutReference,
    failure: null,
    endedAt: now,
  } as const;
  const refunded = applyRefunds(paid, reversals).purchase;
  return { purchase: applyDisputed(refunded, reversals).purchase, outcome: 'paid' };
}

function findMismatch(purchase: Purchase, fact: PaidFact): string | null {
  if (fact.organizationId !== purchase.organizationId) return 'It was paid for another organization.';
  if (purchase.checkoutReference !== null && fact.checkoutReference !== purchase.checkoutReference) {
    return 'It was paid on another page.';
  }
  if (fact.currency !== 'usd') return 'It was paid in another currency.';
  if (fact.amountMicro !== purchase.amountMicro) return 'Another amount was paid.';
  return null;
}

/**
 * The states that each of them may follow. A page that expired by the clock, or was closed at the last moment, may
 * still have been used: its event is late.
 */
const FOLLOWS: Readonly<Record<NotPaidFact['state'], readonly PurchaseState[]>> = {
  processing: ['pending', 'expired', 'canceled'],
  failed: ['pending', 'processing'],
  expired: ['pending'],
};

function applyNotPaid(purchase: Purchase, { checkoutReference, state }: NotPaidFact, now: Date): AppliedFact {
  const isOther = purchase.checkoutReference !== null && purchase.checkoutReference !== checkoutReference;
  if (isOther || !FOLLOWS[state].includes(purchase.state)) return { purchase, outcome: 'nothing' };
  const failure = state === 'failed' ? 'The payment failed.' : null;
  const endedAt = state === 'processing' ? null : now;
  return { purchase: { ...purchase, state, failure, endedAt }, outcome: 'not_paid' };
}

function applyRefunded(
  purchase: Purchase,
  { refundedMicro, paymentReference }: RefundedFact,
  reversals: KnownReversals,
): AppliedFact {
  const isOther = purchase.paymentReference !== null && purchase.paymentReference !== paymentReference;
  // Each event reports the sum, so a late older event adds nothing.
  if (isOther || refundedMicro <= purchase.highestRefundedMicro) return { purchase, outcome: 'nothing' };
  return applyRefunds({ ...purchase, highestRefundedMicro: refundedMicro }, reversals);
}

/**
 * The effective refunds: the sum of those reported individually, but at least the highest reported sum minus failed
 * refunds. Once all are known, both are equal or the first is higher, because a sum reported after a failure may
 * already exclude it.
 */
function applyRefunds(purchase: Purchase, reversals: KnownReversals): AppliedFact {
  const leftMicro = purchase.highestRefundedMicro - reversals.failedRefundsMicro;
  const refundedMicro = reversals.refundedMicro > leftMicro ? reversals.refundedMicro : leftMicro;
  if (refundedMicro === purchase.refundedMicro) return { purchase, outcome: 'nothing' };
  const outcome = refundedMicro > purchase.refundedMicro ? 'refunded' : 'refund_failed';
  return { purchase: { ...purchase, refundedMicro }, outcome };
}

function applyDisputed(purchase: Purchase, { disputedMicro }: KnownReversals): AppliedFact {
  if (disputedMicro === purchase.disputedMicro) return { purchase, outcome: 'nothing' };
  return { purchase: { ...purchase, disputedMicro }, outcome: 'disputed' };
}
