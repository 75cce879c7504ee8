import { isUuid } from '../../core/types/require-uuid';
import type { NotPaidFact, PaymentEvent, PaymentFact } from './payment-provider';

/** The parts of Stripe's events that are read here; other parts may follow any API version. */
interface StripeEventLike {
  readonly id: string;
  readonly type: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly data: { readonly object: unknown };
}

type StripeObject = Readonly<Record<string, unknown>>;

/** One cent, Stripe's unit for dollars. */
const CENT_MICRO = 10_000n;
const REFERENCE = /^[A-Za-z0-9_-]{1,255}$/;

/** Extracts the payment fact of a verified Stripe event. An unexpected shape yields no fact. */
export function fromStripeEvent({ id, type, created, data }: StripeEventLike): PaymentEvent {
  return { id, type, fact: isObject(data.object) ? readFact(type, created, data.object) : null };
}

function readFact(type: string, createdSeconds: number, object: StripeObject): PaymentFact | null {
  switch (type) {
    case 'checkout.session.completed':
      // Some payment methods take days; another event reports the outcome.
      return object.payment_status === 'unpaid' ? readNotPaid(object, 'processing') : readPaid(object);
    case 'checkout.session.async_payment_succeeded':
      return readPaid(object);
    case 'checkout.session.async_payment_failed':
      return readNotPaid(object, 'failed');
    case 'checkout.session.expired':
      return readNotPaid(object, 'expired');
    case 'charge.refunded':
      return readRefunded(object);
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.refund.updated':
      return readRefund(object);
    case 'charge.dispute.funds_withdrawn':
      return readDisputed(object, toMicro(object.amount), createdSeconds);
    case 'charge.dispute.funds_reinstated':
      return readDisputed(object, 0n, createdSeconds);
    default:
      return null;
  }
}

function readPaid(session: StripeObject): PaymentFact | null {
  const purchaseId = toUuid(session.client_reference_id);
  const checkoutReference = toReference(session.id);
  const amountMicro = toMicro(session.amount_total);
  if (purchaseId === null || checkoutReference === null || amountMicro === null) return null;
  return {
    kind: 'paid',
    purchaseId,
    organizationId: isObject(session.metadata) ? toUuid(session.metadata.organization_id) : null,
    checkoutReference,
    // There is none when a coupon covers the full amount.
    paymentReference: toReference(session.payment_intent) ?? checkoutReference,
    amountMicro,
    currency: String(session.currency).toLowerCase(),
  };
}

function readNotPaid(session: StripeObject, state: NotPaidFact['state']): PaymentFact | null {
  const purchaseId = toUuid(session.client_reference_id);
  const checkoutReference = toReference(session.id);
  if (purchaseId === null || checkoutReference === null) return null;
  return { kind: 'not-paid', purchaseId, checkoutReference, state };
}

function readRefunded(charge: StripeObject): PaymentFact | null {
  const paymentReference = toReference(charge.payment_intent);
  const refundedMicro = toMicro(charge.amount_refunded);
  if (paymentReference === null || refundedMicro === null) return null;
  const purchaseId = isObject(charge.metadata) ? toUuid(charge.metadata.purchase_id) : null;
  return { kind: 'refunded', purchaseId, paymentReference, refundedMicro };
}

function readRefund(refund: StripeObject): PaymentFact | null {
  const refundId = toReference(refund.id);
  const paymentReference = toReference(refund.payment_intent);
  const amountMicro = toMicro(refund.amount);
  if (refundId === null || paymentReference === null || amountMicro === null) return null;
  const hasFailed = refund.status === 'failed' || refund.status === 'canceled';
  return { kind: 'refund', refundId, paymentReference, amountMicro, hasFailed };
}

function readDisputed(dispute: StripeObject, disputedMicro: bigint | null, createdSeconds: number): PaymentFact | null {
  const paymentReference = toReference(dispute.payment_intent);
  if (paymentReference === null || disputedMicro === null) return null;
  return { kind: 'disputed', paymentReference, disputedMicro, reportedAtMs: createdSeconds * 1_000 };
}

/** An id, or the object that it was expanded to. */
function toReference(value: unknown): string | null {
  const id = isObject(value) ? value.id : value;
  return typeof id === 'string' && REFERENCE.test(id) ? id : null;
}

function toUuid(value: unknown): string | null {
  return typeof value === 'string' && isUuid(value) ? value.toLowerCase() : null;
}

function toMicro(cents: unknown): bigint | null {
  return Number.isSafeInteger(cents) && (cents as number) >= 0 ? BigInt(cents as number) * CENT_MICRO : null;
}

function isObject(value: unknown): value is StripeObject {
  return typeof value === 'object' && value !== null;
}
