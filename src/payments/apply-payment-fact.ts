import type { DisputedFact, NotPaidFact, PaidFact, PaymentFact, RefundedFact } from './payment-provider';
import type { PurchaseState } from '../database/entities/purchase.entity';
import type { Purchase } from './purchase';

/**
 * What an event has done to a purchase. `mismatch`: what was paid is not what was ordered; `nothing`: it was known already, or
 * comes too late to matter.
 */
export type PaymentOutcome = 'paid' | 'not_paid' | 'mismatch' | 'refunded' | 'disputed' | 'nothing';

export interface AppliedFact {
  readonly purchase: Purchase;
  readonly outcome: PaymentOutcome;
}

/**
 * The purchase after an event, whichever order events come in: what was paid as ordered counts even where the order had
 * expired, since the money is there; what was paid back is remembered even before the payment is known.
 */
export function applyPaymentFact(purchase: Purchase, fact: PaymentFact, now: Date): AppliedFact {
  switch (fact.kind) {
    case 'paid':
      return applyPaid(purchase, fact, now);
    case 'not-paid':
      return applyNotPaid(purchase, fact, now);
    case 'refunded':
      return applyRefunded(purchase, fact);
    case 'disputed':
      return applyDisputed(purchase, fact);
  }
}

function applyPaid(purchase: Purchase, fact: PaidFact, now: Date): AppliedFact {
  const { paymentReference, checkoutReference } = fact;
  if (purchase.state === 'paid') {
    if (purchase.paymentReference === paymentReference) return { purchase, outcome: 'nothing' };
    return { purchase: { ...purchase, failure: 'It was paid a second time.' }, outcome: 'mismatch' };
  }
  const failure = findMismatch(purchase, fact);
  if (failure !== null)
    return { purchase: { ...purchase, state: 'mismatch', failure, endedAt: now }, outcome: 'mismatch' };
  return {
    purchase: { ...purchase, state: 'paid', paymentReference, checkoutReference, failure: null, endedAt: now },
    outcome: 'paid',
  };
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

/** What each of them may come after. A page that expired by the clock alone may have been used: its event was late. */
const FOLLOWS: Readonly<Record<NotPaidFact['state'], readonly PurchaseState[]>> = {
  processing: ['pending', 'expired'],
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

function applyRefunded(purchase: Purchase, { refundedMicro, paymentReference }: RefundedFact): AppliedFact {
  const isOther = purchase.paymentReference !== null && purchase.paymentReference !== paymentReference;
  // Each event tells the sum: an older one that comes later has nothing to add.
  if (isOther || refundedMicro <= purchase.refundedMicro) return { purchase, outcome: 'nothing' };
  return { purchase: { ...purchase, refundedMicro }, outcome: 'refunded' };
}

function applyDisputed(purchase: Purchase, { disputedMicro, saidAtMs }: DisputedFact): AppliedFact {
  if (purchase.disputeSeenAt !== null && saidAtMs < purchase.disputeSeenAt.getTime()) {
    return { purchase, outcome: 'nothing' };
  }
  return { purchase: { ...purchase, disputedMicro, disputeSeenAt: new Date(saidAtMs) }, outcome: 'disputed' };
}
