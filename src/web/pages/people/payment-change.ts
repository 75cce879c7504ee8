import type { AuditEntry } from '../../../contract/dashboard';

type State = AuditEntry['before'];

/** The audit action of every event of a payment: also of refunds, disputes and payments that fail. */
export const PAYMENT_EVENT = 'payment.received';

const STATES: Readonly<Record<string, string>> = {
  paid: 'Payment received',
  processing: 'Payment on its way',
  failed: 'Payment failed',
  expired: 'Payment expired',
  mismatch: 'Payment differs from the order',
};

/** What an event of a payment changed, and the amount that it is about, without a sign. */
export function paymentChange(before: State, after: State): { readonly text: string; readonly micro: bigint } {
  const micro = amountOf(after, 'amount_micro');
  if (before?.state !== after?.state) return { text: STATES[String(after?.state)] ?? 'Payment changed', micro };
  const refunded = amountOf(after, 'refunded_micro') - amountOf(before, 'refunded_micro');
  if (refunded > 0n) return { text: 'Payment refunded', micro: refunded };
  if (refunded < 0n) return { text: 'Refund failed', micro: -refunded };
  const disputed = amountOf(after, 'disputed_micro') - amountOf(before, 'disputed_micro');
  if (disputed > 0n) return { text: 'Payment disputed', micro: disputed };
  if (disputed < 0n) return { text: 'Disputed amount returned', micro: -disputed };
  const needsReview = after?.failure !== undefined && after.failure !== before?.failure;
  return { text: needsReview ? 'Payment needs a review' : 'Payment changed', micro };
}

/** Large amounts are texts; a state leaves out amounts of 0. */
function amountOf(state: State, field: string): bigint {
  const value = state?.[field];
  return /^\d+$/.test(String(value)) ? BigInt(String(value)) : 0n;
}
