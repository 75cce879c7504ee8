import type { CallReply } from '../../../harness/gateway';
import { type PaidSession, paidSession, send, signEvent } from '../../../harness/stripe-server';
import { PaymentStage, TEN_DOLLARS } from './payment-stage';

let stage: PaymentStage;

beforeAll(async () => {
  stage = await PaymentStage.start();
});
beforeEach(() => stage.admitBuyer());
afterAll(() => stage.stop());

const CONFLICT = { status: 409, json: { error: { code: 'conflict' } } };

function cancel({ purchaseId }: Pick<PaidSession, 'purchaseId'>, client = stage.client): Promise<CallReply> {
  return client.call(client.path(`/billing/purchases/${purchaseId}/cancel`), { method: 'POST' });
}

async function leftOfDay(): Promise<number> {
  const { client } = stage;
  return (await client.call(client.path('/billing/balance'))).json.purchases.day_left_micro;
}

describe('cancelPurchase', () => {
  it('expires the Stripe session and restores the purchase limits, idempotently', async () => {
    const order = await stage.order();
    const { purchaseId: id, sessionId } = order;
    expect(await leftOfDay()).toBe(490_000_000);
    const replies = [...(await Promise.all([cancel(order), cancel(order)])), await cancel(order)];
    for (const reply of replies) {
      expect(reply).toMatchObject({ status: 200, json: { id, status: 'canceled', checkout_url: null } });
    }
    expect(stage.stripe.expired).toContain(sessionId);
    expect(await leftOfDay()).toBe(500_000_000);
    expect(await stage.purchase(order)).toEqual(replies[0]?.json);
    const entries = await stage.gateway.rows(
      `SELECT before->>'state' AS before, after->>'state' AS after FROM audit_entry
        WHERE action = 'purchase.canceled' AND target_id = $1 ORDER BY id`,
      [id],
    );
    expect(entries).toEqual(['pending', 'canceled', 'canceled'].map((before) => ({ before, after: 'canceled' })));
  });

  it('expires the Stripe session also before its id is stored', async () => {
    const { client, stripe } = stage;
    stripe.answerOnce((_asked, reply) => send(reply, 500, { error: { type: 'api_error' } }));
    const path = client.path('/billing/purchases');
    expect((await client.call(path, { body: { amount_micro: TEN_DOLLARS } })).status).toBe(503);
    const [pending] = (await client.call(path)).json.data;
    expect((await cancel({ purchaseId: pending.id })).json.status).toBe('canceled');
    expect(stripe.expired).toContain(stripe.asked.find(({ idempotencyKey }) => idempotencyKey === pending.id)?.id);
  });

  it('changes nothing when Stripe reports a used session or does not respond', async () => {
    const order = await stage.order();
    stage.stripe.expireOnce((reply) => send(reply, 500, { error: { type: 'api_error' } }));
    expect(await cancel(order)).toMatchObject({ status: 503, json: { error: { code: 'service_unavailable' } } });
    // A completed session.
    stage.stripe.expireOnce((reply) => send(reply, 400, { error: { type: 'invalid_request_error' } }));
    expect(await cancel(order)).toMatchObject(CONFLICT);
    expect(await stage.purchase(order)).toMatchObject({ status: 'pending' });
    await stage.pay(order);
    expect(await cancel(order)).toMatchObject(CONFLICT);
    expect(await stage.purchase(order)).toMatchObject({ status: 'paid' });
  });

  it('still credits a late payment once', async () => {
    const order = await stage.order();
    await cancel(order);
    await stage.deliver(signEvent('checkout.session.expired', paidSession(order)));
    expect(await stage.purchase(order)).toMatchObject({ status: 'canceled' });
    await Promise.all([stage.pay(order), stage.pay(order)]);
    expect(await stage.purchase(order)).toMatchObject({ status: 'paid' });
    expect(await stage.balance()).toBe(TEN_DOLLARS);
    expect(await stage.gateway.violations()).toEqual([]);
  });

  it('is refused when a payment event arrives while Stripe expires the session', async () => {
    const order = await stage.order();
    stage.stripe.expireOnce(async (reply) => {
      await stage.pay(order, { payment_status: 'unpaid' });
      send(reply, 200, { id: order.sessionId, object: 'checkout.session', status: 'expired', livemode: false });
    });
    expect(await cancel(order)).toMatchObject(CONFLICT);
    expect(await stage.purchase(order)).toMatchObject({ status: 'processing' });
  });

  it('returns 404 for a purchase of another organization', async () => {
    const order = await stage.order();
    const other = await stage.gateway.dashboardUser({ role: 'admin' });
    expect(await cancel(order, other)).toMatchObject({ status: 404, json: { error: { code: 'not_found' } } });
    expect(await stage.purchase(order)).toMatchObject({ status: 'pending' });
  });
});
