import { randomUUID } from 'node:crypto';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { TestGateway, type CallReply } from '../../../harness/gateway';
import {
  paidSession,
  type PaidSession,
  signEvent,
  type SignedEvent,
  StripeServer,
} from '../../../harness/stripe-server';

const EVENTS = '/dashboard/api/payments/stripe/events';
const TEN_DOLLARS = 10_000_000;

let stripe: StripeServer;
let gateway: TestGateway;
let client: DashboardClient;

beforeAll(async () => {
  stripe = await StripeServer.start();
  gateway = await TestGateway.start(stripe.environment);
});
beforeEach(async () => {
  client = await gateway.dashboardUser({ role: 'admin' });
});
afterAll(async () => {
  await gateway.stop();
  await stripe.stop();
});

async function order(amountMicro = TEN_DOLLARS): Promise<PaidSession> {
  const { json } = await client.call(client.path('/billing/purchases'), { body: { amount_micro: amountMicro } });
  const sessionId = String(json.checkout_url).split('/').at(-1) as string;
  return { purchaseId: json.id, organizationId: client.organizationId, amountMicro, sessionId };
}

function deliver({ body, headers }: SignedEvent): Promise<CallReply> {
  return gateway.call(EVENTS, { method: 'POST', body, headers });
}

async function pay(session: PaidSession, changes: object = {}): Promise<CallReply> {
  return deliver(signEvent('checkout.session.completed', { ...paidSession(session), ...changes }));
}

async function balance(): Promise<number> {
  return (await client.call(client.path('/billing/balance'))).json.balance_micro;
}

async function purchase({ purchaseId }: PaidSession): Promise<Record<string, unknown>> {
  return (await client.call(client.path(`/billing/purchases/${purchaseId}`))).json;
}

function paymentOf({ purchaseId }: PaidSession): string {
  return `pi_${purchaseId.replaceAll('-', '')}`;
}

function refund(session: PaidSession, refundedMicro: number): SignedEvent {
  return signEvent('charge.refunded', {
    object: 'charge',
    payment_intent: paymentOf(session),
    metadata: { purchase_id: session.purchaseId },
    amount_refunded: refundedMicro / 10_000,
    currency: 'usd',
  });
}

describe('a payment', () => {
  it('is credited once it is told of, and stands in the ledger and in the audit log', async () => {
    const session = await order();
    expect(await balance()).toBe(0);
    const reply = await pay(session);
    expect(reply).toMatchObject({ status: 200, json: { object: 'payment_receipt', received: true } });
    expect(await balance()).toBe(TEN_DOLLARS);
    expect(await purchase(session)).toMatchObject({ status: 'paid', checkout_url: null });
    const [entry] = (await client.call(client.path('/billing/ledger'))).json.data;
    expect(entry).toMatchObject({
      kind: 'topup',
      amount_micro: TEN_DOLLARS,
      reference: `stripe:${paymentOf(session)}`,
    });
    const entries = await gateway.rows('SELECT action, actor_kind, target_id FROM audit_entry WHERE request_id = $1', [
      reply.headers.get('x-request-id'),
    ]);
    expect(entries).toEqual([{ action: 'payment.received', actor_kind: 'system', target_id: session.purchaseId }]);
  });

  it('keeps the account for five seconds at most when the process hangs while it books', async () => {
    await gateway.rows(`
      CREATE TABLE seen_setting (value text);
      CREATE FUNCTION see_setting() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO seen_setting VALUES (current_setting('idle_in_transaction_session_timeout'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER see_setting AFTER INSERT ON ledger_entry FOR EACH ROW EXECUTE FUNCTION see_setting()`);
    await pay(await order());
    await gateway.rows('DROP TRIGGER see_setting ON ledger_entry');
    expect(await gateway.rows('SELECT value FROM seen_setting')).toEqual([{ value: '5s' }]);
  });

  it('is credited once when its event comes 30 times at once, and again under another id', async () => {
    const session = await order();
    const event = signEvent('checkout.session.completed', paidSession(session));
    const replies = await Promise.all(Array.from({ length: 30 }, () => deliver(event)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    await deliver(signEvent('checkout.session.async_payment_succeeded', paidSession(session)));
    expect(await balance()).toBe(TEN_DOLLARS);
  });

  it.each<[string, (event: SignedEvent) => SignedEvent]>([
    ['no signature', ({ body }) => ({ body, headers: {} })],
    ['a signature of another body', ({ body, headers }) => ({ body: body.replace('"usd"', '"eur"'), headers })],
    ['a signature by another secret', ({ body }) => resigned(body, { secret: 'whsec_another' })],
    ['a signature of six minutes ago', ({ body }) => resigned(body, { atMs: Date.now() - 360_000 })],
    ['a signature of nothing', ({ body }) => ({ body, headers: { 'stripe-signature': 't=,v1=' } })],
  ])('with %s is refused and credits nothing', async (_name, forge) => {
    const session = await order();
    const reply = await deliver(forge(signEvent('checkout.session.completed', paidSession(session))));
    expect(reply).toMatchObject({ status: 400, json: { error: { code: 'validation_failed' } } });
    expect(await balance()).toBe(0);
  });

  it.each<[string, object]>([
    ['a smaller amount', { amount_total: 999 }],
    ['a larger amount', { amount_total: 1_001 }],
    ['another currency', { currency: 'eur' }],
    ['another organization', { metadata: { organization_id: randomUUID() } }],
    ['no organization', { metadata: {} }],
    ['another page', { id: 'cs_test_of_somebody_else' }],
  ])('of %s is kept for a person to look at, and credits nothing', async (_name, changes) => {
    const session = await order();
    expect((await pay(session, changes)).status).toBe(200);
    expect(await balance()).toBe(0);
    expect(await purchase(session)).toMatchObject({ status: 'mismatch', failure: expect.any(String) });
  });

  it('pays for one purchase, not for two', async () => {
    const [first, second] = [await order(), await order()];
    await pay(first);
    await pay(second, { payment_intent: paymentOf(first) });
    expect(await balance()).toBe(TEN_DOLLARS);
    expect(await purchase(second)).toMatchObject({ status: 'mismatch' });
  });

  it('that is the second one of a purchase is kept for a person to look at', async () => {
    const session = await order();
    await pay(session);
    await pay(session, { payment_intent: 'pi_another' });
    expect(await balance()).toBe(TEN_DOLLARS);
    expect(await purchase(session)).toMatchObject({ status: 'paid', failure: 'It was paid a second time.' });
  });

  it('is credited when it is told of before Stripe has answered with the page', async () => {
    stripe.answerOnce(async (asked, reply) => {
      const { client_reference_id: purchaseId = '' } = asked.fields;
      await pay({ purchaseId, organizationId: client.organizationId, amountMicro: TEN_DOLLARS, sessionId: asked.id });
      stripe.give(asked, reply);
    });
    const { json } = await client.call(client.path('/billing/purchases'), { body: { amount_micro: TEN_DOLLARS } });
    expect(json).toMatchObject({ status: 'paid', checkout_url: null });
    expect(await balance()).toBe(TEN_DOLLARS);
  });

  it('is credited when its event comes after that of the page having expired', async () => {
    const session = await order();
    await deliver(signEvent('checkout.session.expired', paidSession(session)));
    expect(await purchase(session)).toMatchObject({ status: 'expired' });
    await pay(session);
    expect(await purchase(session)).toMatchObject({ status: 'paid' });
    expect(await balance()).toBe(TEN_DOLLARS);
    await deliver(signEvent('checkout.session.expired', paidSession(session)));
    expect(await purchase(session)).toMatchObject({ status: 'paid' });
  });

  it('that is on its way for days is credited when it has arrived, and fails when it has not', async () => {
    const [arriving, failing] = [await order(), await order()];
    await pay(arriving, { payment_status: 'unpaid' });
    await pay(failing, { payment_status: 'unpaid' });
    expect(await purchase(arriving)).toMatchObject({ status: 'processing', checkout_url: null });
    await deliver(signEvent('checkout.session.async_payment_succeeded', paidSession(arriving)));
    await deliver(signEvent('checkout.session.async_payment_failed', paidSession(failing)));
    expect(await purchase(arriving)).toMatchObject({ status: 'paid' });
    expect(await purchase(failing)).toMatchObject({ status: 'failed' });
    expect(await balance()).toBe(TEN_DOLLARS);
  });
});

describe('events', () => {
  it.each<[string, SignedEvent]>([
    ['an unknown purchase', signEvent('checkout.session.completed', paidSession(nobodys()))],
    ['what is no purchase', signEvent('checkout.session.completed', { id: 'cs_1', client_reference_id: 'order 7' })],
    ['something else', signEvent('customer.created', { id: 'cus_1' })],
    ['an unknown payment', signEvent('charge.dispute.funds_withdrawn', { payment_intent: 'pi_unknown', amount: 1 })],
    ['nothing at all', signEvent('charge.refunded', [])],
  ])('about %s are taken, so that Stripe stops, and change nothing', async (_name, event) => {
    expect((await deliver(event)).status).toBe(200);
    expect(
      await gateway.rows(`SELECT 1 FROM audit_entry WHERE action = 'payment.received' AND organization_id = $1`, [
        client.organizationId,
      ]),
    ).toEqual([]);
  });

  it('that are no JSON, or nothing, are refused', async () => {
    const headers = signEvent('customer.created', {}).headers;
    expect((await gateway.call(EVENTS, { method: 'POST', body: '{', headers })).json.error.code).toBe('invalid_json');
    expect((await gateway.call(EVENTS, { method: 'POST', headers })).status).toBe(400);
  });
});

describe('what is paid back', () => {
  it('is taken from the balance, once for each step, whichever order the events come in', async () => {
    const session = await order();
    await pay(session);
    const [first, second] = [refund(session, 3_000_000), refund(session, 5_000_000)];
    for (const event of [second, first, second]) expect((await deliver(event)).status).toBe(200);
    expect(await balance()).toBe(5_000_000);
    expect(await purchase(session)).toMatchObject({ refunded_micro: 5_000_000, owed_micro: 0 });
  });

  it('before the payment is known is taken as soon as it is', async () => {
    const session = await order();
    await deliver(refund(session, 4_000_000));
    expect(await balance()).toBe(0);
    await pay(session);
    expect(await balance()).toBe(6_000_000);
  });

  it('takes what is free and no more: the rest is owed', async () => {
    const session = await order();
    await pay(session);
    await gateway.rows(`SELECT money_post($1, 'adjust', -7000000, 'spent')`, [client.organizationId]);
    await deliver(refund(session, TEN_DOLLARS));
    expect(await balance()).toBe(0);
    expect(await purchase(session)).toMatchObject({ refunded_micro: TEN_DOLLARS, owed_micro: 7_000_000 });
  });

  const dispute = (type: string, session: PaidSession, atMs: number): SignedEvent =>
    signEvent(`charge.dispute.${type}`, { payment_intent: paymentOf(session), amount: 1_000 }, { atMs });

  it('by a bank before the payment is known is taken as soon as it is, and only what was said last', async () => {
    const [disputed, returned, now] = [await order(), await order(), Date.now()];
    await deliver(dispute('funds_withdrawn', disputed, now));
    await deliver(dispute('funds_reinstated', returned, now));
    await deliver(dispute('funds_withdrawn', returned, now - 60_000));
    await pay(disputed);
    expect(await balance()).toBe(0);
    expect(await purchase(disputed)).toMatchObject({ status: 'paid', disputed_micro: TEN_DOLLARS, owed_micro: 0 });
    await pay(returned);
    expect(await balance()).toBe(TEN_DOLLARS);
  });

  it('by a bank while the payment is being booked waits for it', async () => {
    const session = await order();
    const lock = await gateway.pool.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE', [client.organizationId]);
    const paying = pay(session);
    await untilWaiting(1);
    const disputing = deliver(dispute('funds_withdrawn', session, Date.now()));
    await Promise.race([disputing, untilWaiting(2)]);
    await lock.query('ROLLBACK');
    lock.release();
    await Promise.all([paying, disputing]);
    expect(await purchase(session)).toMatchObject({ disputed_micro: TEN_DOLLARS, owed_micro: 0 });
  });

  it('by a bank comes back when the dispute is won, whichever event comes first', async () => {
    const session = await order();
    await pay(session);
    const now = Date.now();
    await deliver(dispute('funds_withdrawn', session, now - 60_000));
    expect(await balance()).toBe(0);
    expect(await purchase(session)).toMatchObject({ disputed_micro: TEN_DOLLARS });
    await deliver(dispute('funds_reinstated', session, now));
    expect(await balance()).toBe(TEN_DOLLARS);
    await deliver(dispute('funds_withdrawn', session, now - 30_000));
    expect(await balance()).toBe(TEN_DOLLARS);
    expect(await purchase(session)).toMatchObject({ disputed_micro: 0, owed_micro: 0 });
  });
});

it('leaves books without a fault after all of this', async () => {
  expect(await gateway.violations()).toEqual([]);
});

function resigned(body: string, options: { secret?: string; atMs?: number }): SignedEvent {
  const { type, data } = JSON.parse(body) as { type: string; data: { object: object } };
  return signEvent(type, data.object, options);
}

/** Until so many transactions of this gateway wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await gateway.rows(waiting)).length < count);
}

function nobodys(): PaidSession {
  return { purchaseId: randomUUID(), organizationId: randomUUID(), amountMicro: TEN_DOLLARS, sessionId: 'cs_nobodys' };
}
