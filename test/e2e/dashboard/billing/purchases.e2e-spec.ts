import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { COMMAND_LINE } from '../../../../src/core/types/actor';
import { type Clock, systemClock } from '../../../../src/core/time/clock';
import { OperatorOrganizationService } from '../../../../src/dashboard/organizations/operator-organization.service';
import { BillingSettingsService } from '../../../../src/billing/payments/billing-settings.service';
import { PaymentSweeps } from '../../../../src/billing/payments/payment-sweeps';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway, type CallReply } from '../../../harness/gateway';
import { paidSession, send, signEvent, StripeServer } from '../../../harness/stripe-server';

const TEN_DOLLARS = 10_000_000;

let offsetMs = 0;
const clock: Clock = { now: () => systemClock.now() + offsetMs, monotonic: () => systemClock.monotonic() };

let stripe: StripeServer;
let gateway: TestGateway;
let client: DashboardClient;

beforeAll(async () => {
  stripe = await StripeServer.start();
  gateway = await TestGateway.start({ ...stripe.environment, DASHBOARD_URL: 'https://console.example.com' }, clock);
});
beforeEach(async () => {
  client = await gateway.dashboardUser({ role: 'admin' });
});
afterEach(() => {
  offsetMs = 0;
});
afterAll(async () => {
  await gateway.stop();
  await stripe.stop();
});

function buy(amountMicro: number, headers: Record<string, string> = {}): Promise<CallReply> {
  return client.call(client.path('/billing/purchases'), { body: { amount_micro: amountMicro }, headers });
}

async function limits(): Promise<{ day_left_micro: number; month_left_micro: number }> {
  return (await client.call(client.path('/billing/balance'))).json.purchases;
}

describe('createPurchase', () => {
  it('creates one Stripe session per purchase with the exact amount', async () => {
    const reply = await buy(TEN_DOLLARS);
    expect(reply).toMatchObject({
      status: 201,
      json: { status: 'pending', amount_micro: TEN_DOLLARS, provider: 'stripe' },
    });
    const { id } = reply.json;
    const asked = stripe.asked.filter(({ idempotencyKey }) => idempotencyKey === id);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.fields).toMatchObject({
      mode: 'payment',
      client_reference_id: id,
      'adaptive_pricing[enabled]': 'false',
      'line_items[0][price_data][currency]': 'usd',
      'line_items[0][price_data][unit_amount]': '1000',
      'line_items[0][quantity]': '1',
      'metadata[purchase_id]': id,
      'metadata[organization_id]': client.organizationId,
      'payment_intent_data[metadata][purchase_id]': id,
      success_url: `https://console.example.com/o/${client.organizationId}/billing?purchase=${id}&outcome=paid`,
      cancel_url: `https://console.example.com/o/${client.organizationId}/billing?purchase=${id}&outcome=canceled`,
    });
    expect(reply.json.checkout_url).toBe(`https://checkout.example.com/${asked[0]?.id}`);
    expect((await client.call(client.path(`/billing/purchases/${id}`))).json).toEqual(reply.json);
    expect((await client.call(client.path('/billing/purchases'))).json.data).toEqual([reply.json]);
  });

  it('creates one purchase per Idempotency-Key, and refuses the key for another amount', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const replies = await Promise.all([1, 2, 3].map(() => buy(TEN_DOLLARS, headers)));
    expect(new Set(replies.map(({ json }) => json.id)).size).toBe(1);
    expect((await buy(2 * TEN_DOLLARS, headers)).json.error.code).toBe('idempotency_conflict');
    const other = await gateway.dashboardUser({ role: 'admin' });
    const path = other.path('/billing/purchases');
    const theirs = await other.call(path, { body: { amount_micro: TEN_DOLLARS }, headers });
    expect(theirs.json.id).not.toBe(replies[0]?.json.id);
  });

  it.each([[999_999], [10_000_010_000], [1_005_000], [1_500_000.5], [1e300], ['1000000'], [null], [-1_000_000]])(
    'refuses an amount of %p and names the field',
    async (amount) => {
      const reply = await client.call(client.path('/billing/purchases'), { body: { amount_micro: amount } });
      expect(reply).toMatchObject({
        status: 400,
        json: { error: { code: 'validation_failed', param: 'amount_micro' } },
      });
    },
  );

  it('refuses an unknown field', async () => {
    const body = { amount_micro: TEN_DOLLARS, currency: 'eur' };
    const reply = await client.call(client.path('/billing/purchases'), { body });
    expect(reply).toMatchObject({ status: 400, json: { error: { param: 'currency' } } });
  });

  it('sells exactly the daily limit to 40 concurrent buyers', async () => {
    await gateway.rows('INSERT INTO billing_settings (organization_id, purchase_limit_day_micro) VALUES ($1, $2)', [
      client.organizationId,
      7 * TEN_DOLLARS,
    ]);
    const replies = await Promise.all(Array.from({ length: 40 }, () => buy(TEN_DOLLARS)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(7);
    const refused = replies.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ json }) => json.error.code))).toEqual(new Set(['purchase_limit_exceeded']));
    expect(refused[0]?.json.error.details).toEqual({ limit: 'day', limit_micro: 7 * TEN_DOLLARS, left_micro: 0 });
    expect(await limits()).toMatchObject({ day_left_micro: 0 });
  });

  it('leaves database connections free while concurrent buyers wait for each other', async () => {
    await gateway.rows('INSERT INTO billing_settings (organization_id) VALUES ($1)', [client.organizationId]);
    const lock = await gateway.pool.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT FROM billing_settings WHERE organization_id = $1 FOR UPDATE', [client.organizationId]);
    const buyers = Array.from({ length: 15 }, () => buy(TEN_DOLLARS));
    while ((await gateway.lockWaits()) < 2) await limits();
    await Promise.all(Array.from({ length: 10 }, limits));
    expect(await gateway.lockWaits()).toBe(2);
    await lock.query('ROLLBACK');
    lock.release();
    expect(new Set((await Promise.all(buyers)).map(({ status }) => status))).toEqual(new Set([201]));
  });

  it('applies the monthly limit when the daily limit would allow more', async () => {
    await gateway.rows('INSERT INTO billing_settings (organization_id, purchase_limit_month_micro) VALUES ($1, $2)', [
      client.organizationId,
      TEN_DOLLARS,
    ]);
    expect((await buy(TEN_DOLLARS)).status).toBe(201);
    expect((await buy(1_000_000)).json.error).toMatchObject({
      code: 'purchase_limit_exceeded',
      details: { limit: 'month' },
    });
  });

  it('sells nothing to a suspended organization', async () => {
    await gateway.rows(`UPDATE organization SET status = 'suspended' WHERE id = $1`, [client.organizationId]);
    expect((await buy(TEN_DOLLARS)).json.error.code).toBe('conflict');
  });
});

describe('Stripe failures', () => {
  it('end a refused purchase, restore its limits and free its key', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    stripe.answerOnce((_asked, reply) =>
      send(reply, 400, { error: { type: 'invalid_request_error', message: 'sk_test' } }),
    );
    const refused = await buy(TEN_DOLLARS, headers);
    expect(refused).toMatchObject({ status: 503, json: { error: { code: 'service_unavailable' } } });
    expect(refused.text).not.toContain('sk_test');
    const [failed] = (await client.call(client.path('/billing/purchases'))).json.data;
    expect(failed).toMatchObject({ status: 'failed', checkout_url: null });
    expect(await limits()).toMatchObject({ day_left_micro: 500_000_000 });
    const again = await buy(TEN_DOLLARS, headers);
    expect(again).toMatchObject({ status: 201, json: { status: 'pending' } });
    expect(again.json.id).not.toBe(failed.id);
  });

  it.each([
    ['an answer of 500', (reply: ServerResponse) => send(reply, 500, { error: { type: 'api_error' } })],
    ['a connection that breaks', (reply: ServerResponse) => breakOff(reply)],
  ])('keep a purchase after %s, and resume it when its key is sent again', async (_name, fail) => {
    const headers = { 'idempotency-key': randomUUID() };
    stripe.answerOnce((_asked, reply) => void fail(reply));
    expect((await buy(TEN_DOLLARS, headers)).status).toBe(503);
    const [pending] = (await client.call(client.path('/billing/purchases'))).json.data;
    expect(pending).toMatchObject({ status: 'pending', checkout_url: null });
    expect(await limits()).toMatchObject({ day_left_micro: 490_000_000 });
    const again = await buy(TEN_DOLLARS, headers);
    expect(again).toMatchObject({ status: 201, json: { id: pending.id, status: 'pending' } });
    expect(again.json.checkout_url).toContain('https://checkout.example.com/');
    expect(stripe.asked.filter(({ idempotencyKey }) => idempotencyKey === pending.id)).toHaveLength(2);
    expect(await limits()).toMatchObject({ day_left_micro: 490_000_000 });
  });
});

describe('an unpaid purchase', () => {
  it('restores the limits when Stripe reports its expiry', async () => {
    const { id } = (await buy(TEN_DOLLARS)).json;
    expect(await limits()).toMatchObject({ day_left_micro: 490_000_000 });
    await sendEvent('checkout.session.expired', id);
    expect(await limits()).toMatchObject({ day_left_micro: 500_000_000 });
  });

  it('ends without an event some time after its expiry', async () => {
    const { id: purchaseId } = (await buy(TEN_DOLLARS)).json;
    const sweeps = gateway.app.get(PaymentSweeps, { strict: false });
    offsetMs = 70 * 60_000;
    await sweeps.expirePurchases();
    expect(await stateOf(purchaseId)).toBe('pending');
    offsetMs = 76 * 60_000;
    await sweeps.expirePurchases();
    expect(await stateOf(purchaseId)).toBe('expired');
  });
});

describe('a payment that takes days', () => {
  it.each([['in time'], ['after the purchase had expired']])(
    'counts towards the limits until its failure, reported %s',
    async (moment) => {
      const { id } = (await buy(TEN_DOLLARS)).json;
      const sweeps = gateway.app.get(PaymentSweeps, { strict: false });
      offsetMs = 76 * 60_000;
      if (moment !== 'in time') await sweeps.expirePurchases();
      await sendEvent('checkout.session.completed', id, { payment_status: 'unpaid' });
      await sweeps.expirePurchases();
      expect(await stateOf(id)).toBe('processing');
      offsetMs = 0;
      expect(await limits()).toMatchObject({ month_left_micro: 4_990_000_000 });
      await sendEvent('checkout.session.async_payment_failed', id);
      expect(await limits()).toMatchObject({ month_left_micro: 5_000_000_000 });
    },
  );
});

describe('purchase limits', () => {
  it('reset at the start of the UTC day and month, and operators can override them', async () => {
    const settings = gateway.app.get(BillingSettingsService, { strict: false });
    const operators = gateway.app.get(OperatorOrganizationService, { strict: false });
    const { organizationId } = client;
    await operators.updateLimits(
      organizationId,
      { purchaseLimitDayMicro: 20_000_000n, purchaseLimitMonthMicro: 30_000_000n },
      COMMAND_LINE,
    );
    const at = (time: string): void => {
      offsetMs = Date.parse(time) - systemClock.now();
    };
    const left = async () => {
      const { day, month } = await settings.getPurchaseLimits(organizationId);
      return [day.leftMicro, month.leftMicro];
    };
    const buyAt = async (time: string, amountMicro: number): Promise<void> => {
      await gateway.rows(
        `INSERT INTO purchase (id, organization_id, provider, amount_micro, created_at, expires_at)
         VALUES (gen_random_uuid(), $1, 'stripe', $2, $3, $3)`,
        [organizationId, amountMicro, time],
      );
    };
    await buyAt('2031-01-30T23:59:59.999Z', 10_000_000);
    await buyAt('2031-01-31T00:00:00Z', 15_000_000);
    at('2031-01-31T12:00:00Z');
    expect(await left()).toEqual([5_000_000n, 5_000_000n]);
    at('2031-02-01T00:00:00.500Z');
    expect(await left()).toEqual([20_000_000n, 30_000_000n]);
    await gateway.rows(`UPDATE purchase SET state = 'expired', ended_at = now() WHERE organization_id = $1`, [
      organizationId,
    ]);
  });
});

/** Sends a Stripe event about a purchase of ten dollars. */
async function sendEvent(type: string, purchaseId: string, changes: object = {}): Promise<void> {
  const { organizationId } = client;
  const sessionId = stripe.asked.find(({ idempotencyKey }) => idempotencyKey === purchaseId)?.id ?? '';
  const session = paidSession({ purchaseId, organizationId, amountMicro: TEN_DOLLARS, sessionId });
  const { body, headers } = signEvent(type, { ...session, ...changes }, { atMs: clock.now() });
  const reply = await gateway.call('/dashboard/api/payments/stripe/events', { method: 'POST', body, headers });
  expect(reply.status).toBe(200);
}

async function stateOf(purchaseId: string): Promise<string | undefined> {
  const [row] = await gateway.rows<{ state: string }>('SELECT state FROM purchase WHERE id = $1', [purchaseId]);
  return row?.state;
}

function breakOff(reply: ServerResponse): void {
  reply.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  reply.write('{"id":', () => reply.destroy());
}
