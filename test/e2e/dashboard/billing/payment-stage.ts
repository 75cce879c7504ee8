import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway, type CallReply } from '../../../harness/gateway';
import {
  paidSession,
  type PaidSession,
  signEvent,
  type SignedEvent,
  StripeServer,
} from '../../../harness/stripe-server';

export const EVENTS = '/dashboard/api/payments/stripe/events';
export const TEN_DOLLARS = 10_000_000;

/** A gateway with Stripe configured, and a buyer. */
export class PaymentStage {
  /** The buyer of the current test, with a new organization. */
  client!: DashboardClient;

  private constructor(
    readonly stripe: StripeServer,
    readonly gateway: TestGateway,
  ) {}

  static async start(): Promise<PaymentStage> {
    const stripe = await StripeServer.start();
    return new PaymentStage(stripe, await TestGateway.start(stripe.environment));
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.stripe.stop();
  }

  async admitBuyer(): Promise<void> {
    this.client = await this.gateway.dashboardUser({ role: 'admin' });
  }

  async order(amountMicro = TEN_DOLLARS): Promise<PaidSession> {
    const { client } = this;
    const { json } = await client.call(client.path('/billing/purchases'), { body: { amount_micro: amountMicro } });
    const sessionId = String(json.checkout_url).split('/').at(-1) as string;
    return { purchaseId: json.id, organizationId: client.organizationId, amountMicro, sessionId };
  }

  deliver({ body, headers }: SignedEvent): Promise<CallReply> {
    return this.gateway.call(EVENTS, { method: 'POST', body, headers });
  }

  async pay(session: PaidSession, changes: object = {}): Promise<CallReply> {
    return this.deliver(signEvent('checkout.session.completed', { ...paidSession(session), ...changes }));
  }

  async balance(): Promise<number> {
    return (await this.client.call(this.client.path('/billing/balance'))).json.balance_micro;
  }

  async purchase({ purchaseId }: PaidSession): Promise<Record<string, unknown>> {
    return (await this.client.call(this.client.path(`/billing/purchases/${purchaseId}`))).json;
  }
}

export function paymentOf({ purchaseId }: PaidSession): string {
  return `pi_${purchaseId.replaceAll('-', '')}`;
}
