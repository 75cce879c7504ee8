import { within } from '../../core/concurrency/within';
import type { AppConfig } from '../../core/config/app-config';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Clock } from '../../core/time/clock';
import { isUuid } from '../../core/types/require-uuid';
import {
  type Checkout,
  CheckoutNotMadeError,
  type CheckoutOrder,
  type EventHeaders,
  type NotPaidFact,
  type PaymentEvent,
  type PaymentFact,
  type PaymentProvider,
} from './payment-provider';
import { paymentReturnUrl } from './return-url';

type StripeClient = Awaited<ReturnType<typeof connect>>;
export type StripeAccount = NonNullable<AppConfig['payments']['stripe']>;

const TIMEOUT_MS = 10_000;
/** Older events may be replay attacks. */
const TOLERANCE_SECONDS = 300;
/** One cent. */
const CENT_MICRO = 10_000n;
/** Failures to connect: nothing was sent. */
const NEVER_SENT: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH']);

/** Sells through Stripe Checkout. The library is loaded on first use. */
export class StripeProvider implements PaymentProvider {
  readonly name = 'stripe';
  private client: Promise<StripeClient> | undefined;

  constructor(
    private readonly account: StripeAccount,
    /** The dashboard to which buyers return after the checkout. */
    private readonly dashboardUrl: string,
    private readonly clock: Clock,
    private readonly timeoutMs = TIMEOUT_MS,
  ) {}

  async createCheckout(order: CheckoutOrder): Promise<Checkout> {
    const { purchaseId, organizationId, amountMicro, expiresAt } = order;
    const stripe = await this.connected();
    const metadata = { purchase_id: purchaseId, organization_id: organizationId };
    const session = await withinTime(
      stripe.checkout.sessions.create(
        {
          mode: 'payment',
          // Depending on account settings, Stripe would otherwise charge in the buyer's currency.
          adaptive_pricing: { enabled: false },
          client_reference_id: purchaseId,
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: 'usd',
                unit_amount: Number(amountMicro / CENT_MICRO),
                product_data: { name: 'API credit' },
              },
            },
          ],
          metadata,
          // Charges inherit the metadata, so that refund events name their purchase.
          payment_intent_data: { metadata },
          expires_at: Math.floor(expiresAt.getTime() / 1_000),
          success_url: paymentReturnUrl(this.dashboardUrl, order, 'paid'),
          cancel_url: paymentReturnUrl(this.dashboardUrl, order, 'canceled'),
        },
        { idempotencyKey: purchaseId },
      ),
      this.timeoutMs,
    ).catch((error: unknown) => {
      throw isCertainlyNotMade(error) ? new CheckoutNotMadeError(describe(error), { cause: error }) : error;
    });
    if (session.url === null) throw new CheckoutNotMadeError('Stripe returned no URL for the checkout');
    return { reference: session.id, url: session.url };
  }

  /**
   * The same order yields the same checkout: if the id is unknown, the checkout is requested again. If Stripe then does
   * not create it, it cannot be paid either, since its URL was never returned.
   */
  async closeCheckout(order: CheckoutOrder, reference: string | null): Promise<boolean> {
    let id = reference;
    try {
      id ??= (await this.createCheckout(order)).reference;
    } catch (error) {
      if (error instanceof CheckoutNotMadeError) return true;
      throw error;
    }
    const { sessions } = (await this.connected()).checkout;
    try {
      await withinTime(sessions.expire(id), this.timeoutMs);
      return true;
    } catch (error) {
      // Only an open session can be expired.
      if ((error as { readonly statusCode?: unknown }).statusCode !== 400) throw error;
      return (await withinTime(sessions.retrieve(id), this.timeoutMs)).status === 'expired';
    }
  }

  async readEvent(rawBody: Buffer, headers: EventHeaders): Promise<PaymentEvent> {
    const { webhooks } = await this.connected();
    const signature = headers['stripe-signature'];
    try {
      return fromStripeEvent(
        webhooks.constructEvent(
          rawBody.toString(),
          typeof signature === 'string' ? signature : '',
          this.account.webhookSecret,
          TOLERANCE_SECONDS,
          undefined,
          this.clock.now(),
        ),
      );
    } catch (error) {
      throw new GatewayError('validation_failed', 'The signature of this event is missing, wrong or too old.', {
        param: 'Stripe-Signature',
        cause: error,
      });
    }
  }

  private connected(): Promise<StripeClient> {
    this.client ??= connect(this.account);
    return this.client;
  }
}

async function connect({ secretKey, apiBaseUrl }: StripeAccount) {
  const { Stripe } = await import('stripe');
  const url = apiBaseUrl === null ? null : new URL(apiBaseUrl);
  return new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    // No retries: the buyer retries with the same key, which is faster than waiting for two timeouts.
    maxNetworkRetries: 0,
    telemetry: false,
    ...(url !== null && {
      host: url.hostname,
      port: url.port || (url.protocol === 'https:' ? 443 : 80),
      protocol: url.protocol === 'https:' ? 'https' : 'http',
    }),
  });
}

/** The library's own timeout restarts with every byte, so this one limits the whole call. */
function withinTime<Result>(call: Promise<Result>, timeoutMs: number): Promise<Result> {
  return within(timeoutMs, call, 'Stripe has not answered in time');
}

/**
 * A 4xx from Stripe means that nothing was created, except 409: another request is processing the same order. After
 * connection failures and 5xx the checkout may exist.
 */
function isCertainlyNotMade(error: unknown): boolean {
  const { statusCode, detail } = error as { readonly statusCode?: unknown; readonly detail?: unknown };
  if (typeof statusCode === 'number') return statusCode >= 400 && statusCode < 500 && statusCode !== 409;
  return typeof detail === 'object' && detail !== null && 'code' in detail && NEVER_SENT.has(detail.code);
}

/** Omits Stripe's message, which contains account names and parts of keys. */
function describe(error: unknown): string {
  const { type, statusCode } = error as { readonly type?: unknown; readonly statusCode?: unknown };
  return `Stripe has refused the checkout (${String(type)}${statusCode === undefined ? '' : `, ${String(statusCode)}`})`;
}

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
      return readDisputed(object, readStillWithheld(object), createdSeconds);
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

function readDisputed(dispute: StripeObject, withheldMicro: bigint | null, createdSeconds: number): PaymentFact | null {
  const disputeId = toReference(dispute.id);
  const paymentReference = toReference(dispute.payment_intent);
  if (disputeId === null || paymentReference === null || withheldMicro === null) return null;
  return { kind: 'disputed', disputeId, paymentReference, withheldMicro, reportedAtMs: createdSeconds * 1_000 };
}

/**
 * The amount that the bank keeps after the dispute: nothing, unless the dispute is lost. From a lost dispute the bank
 * returns what the buyer already got as a refund. Balance transactions are in the account's currency, so only their
 * ratio, the returned share of the disputed amount, is used.
 */
function readStillWithheld({ status, amount, balance_transactions: transactions }: StripeObject): bigint | null {
  if (status !== 'lost') return 0n;
  const disputedMicro = toMicro(amount);
  if (disputedMicro === null || !Array.isArray(transactions)) return null;
  const amounts = transactions.map((transaction: unknown) => (isObject(transaction) ? transaction.amount : null));
  if (!amounts.every(Number.isSafeInteger)) return null;
  const sum = (sign: number): bigint =>
    (amounts as number[])
      .filter((cents) => cents * sign > 0)
      .reduce((total, cents) => total + BigInt(cents * sign), 0n);
  const [withdrawn, returned] = [sum(-1), sum(1)];
  if (withdrawn === 0n) return null;
  const keptCents = roundedRatio((disputedMicro / CENT_MICRO) * (withdrawn - returned), withdrawn);
  return keptCents > 0n ? keptCents * CENT_MICRO : 0n;
}

/** To the nearest integer. */
function roundedRatio(dividend: bigint, divisor: bigint): bigint {
  return (2n * dividend + divisor) / (2n * divisor);
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
