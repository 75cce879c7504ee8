import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import type { AppConfig } from '../../core/config/app-config';
import {
  CheckoutNotMadeError,
  type Checkout,
  type CheckoutOrder,
  type EventHeaders,
  type PaymentEvent,
  type PaymentProvider,
} from './payment-provider';
import { fromStripeEvent } from './stripe-events';

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
    /** Buyers return to it after the checkout. */
    private readonly dashboardUrl: string,
    private readonly clock: Clock,
    private readonly timeoutMs = TIMEOUT_MS,
  ) {}

  async createCheckout({ purchaseId, organizationId, amountMicro, expiresAt }: CheckoutOrder): Promise<Checkout> {
    const stripe = await this.connected();
    const metadata = { purchase_id: purchaseId, organization_id: organizationId };
    const backTo = `${this.dashboardUrl}/billing?purchase=${purchaseId}`;
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
          success_url: `${backTo}&outcome=paid`,
          cancel_url: `${backTo}&outcome=canceled`,
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
   * The same order yields the same checkout: if its id is unknown, it is requested again. If Stripe does not create it then,
   * it cannot be paid either, since its URL was never returned.
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
    // The buyer retries with the same key, instead of waiting for two timeouts.
    maxNetworkRetries: 0,
    telemetry: false,
    ...(url !== null && {
      host: url.hostname,
      port: url.port || (url.protocol === 'https:' ? 443 : 80),
      protocol: url.protocol === 'https:' ? 'https' : 'http',
    }),
  });
}

/** The library's own timeout restarts with every byte. */
async function withinTime<Result>(call: Promise<Result>, timeoutMs: number): Promise<Result> {
  const ended = new AbortController();
  const timeout = pause(timeoutMs, undefined, { signal: ended.signal, ref: false }).then(() => {
    throw new Error('Stripe has not answered in time');
  });
  try {
    return await Promise.race([call, timeout]);
  } finally {
    ended.abort();
    timeout.catch(() => undefined);
  }
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
