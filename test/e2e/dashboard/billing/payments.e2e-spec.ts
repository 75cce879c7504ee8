import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { paidSession, type PaidSession, signEvent, type SignedEvent } from '../../../harness/stripe-server';
import { EVENTS, paymentOf, PaymentStage, TEN_DOLLARS } from './payment-stage';

let stage: PaymentStage;

beforeAll(async () => {
  stage = await PaymentStage.start();
});
beforeEach(() => stage.admitBuyer());
afterAll(() => stage.stop());

describe('a payment', () => {
  it('is credited on its event and recorded in the ledger and audit log', async () => {
    const session = await stage.order();
    expect(await stage.balance()).toBe(0);
    const reply = await stage.pay(session);
    expect(reply).toMatchObject({ status: 200, json: { object: 'payment_receipt', received: true } });
    expect(await stage.balance()).toBe(TEN_DOLLARS);
    expect(await stage.purchase(session)).toMatchObject({ status: 'paid', checkout_url: null });
    const [entry] = (await stage.client.call(stage.client.path('/billing/ledger'))).json.data;
    expect(entry).toMatchObject({
      kind: 'topup',
      amount_micro: TEN_DOLLARS,
      reference: `stripe:${paymentOf(session)}`,
      purchase_id: session.purchaseId,
      balance_after_micro: TEN_DOLLARS,
    });
    const entries = await stage.gateway.rows(
      'SELECT action, actor_kind, target_id FROM audit_entry WHERE request_id = $1',
      [reply.headers.get('x-request-id')],
    );
    expect(entries).toEqual([{ action: 'payment.received', actor_kind: 'system', target_id: session.purchaseId }]);
  });

  it('locks the account for at most five seconds when the process hangs while booking', async () => {
    await stage.gateway.rows(`
      CREATE TABLE seen_setting (value text);
      CREATE FUNCTION see_setting() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO seen_setting VALUES (current_setting('idle_in_transaction_session_timeout'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER see_setting AFTER INSERT ON ledger_posting FOR EACH ROW EXECUTE FUNCTION see_setting()`);
    await stage.pay(await stage.order());
    await stage.gateway.rows('DROP TRIGGER see_setting ON ledger_posting');
    expect(await stage.gateway.rows('SELECT value FROM seen_setting')).toEqual([{ value: '5s' }]);
  });

  it('is credited once for 30 concurrent deliveries of its event, and for the same event under another id', async () => {
    const session = await stage.order();
    const event = signEvent('checkout.session.completed', paidSession(session));
    const replies = await Promise.all(Array.from({ length: 30 }, () => stage.deliver(event)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    await stage.deliver(signEvent('checkout.session.async_payment_succeeded', paidSession(session)));
    expect(await stage.balance()).toBe(TEN_DOLLARS);
  });

  it.each<[string, (event: SignedEvent) => SignedEvent]>([
    ['no signature', ({ body }) => ({ body, headers: {} })],
    ['a signature of another body', ({ body, headers }) => ({ body: body.replace('"usd"', '"eur"'), headers })],
    ['a signature by another secret', ({ body }) => resigned(body, { secret: 'whsec_another' })],
    ['a signature of six minutes ago', ({ body }) => resigned(body, { atMs: Date.now() - 360_000 })],
    ['a signature of nothing', ({ body }) => ({ body, headers: { 'stripe-signature': 't=,v1=' } })],
  ])('with %s is refused, logged and not credited', async (_name, forge) => {
    const session = await stage.order();
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const reply = await stage.deliver(forge(signEvent('checkout.session.completed', paidSession(session))));
    expect(reply).toMatchObject({ status: 400, json: { error: { code: 'validation_failed' } } });
    expect(warn.mock.calls.flat()).toMatchObject([{ event: 'payment_event_refused', provider: 'stripe' }]);
    warn.mockRestore();
    expect(await stage.balance()).toBe(0);
  });

  it.each<[string, object]>([
    ['a smaller amount', { amount_total: 999 }],
    ['a larger amount', { amount_total: 1_001 }],
    ['another currency', { currency: 'eur' }],
    ['another organization', { metadata: { organization_id: randomUUID() } }],
    ['no organization', { metadata: {} }],
    ['another page', { id: 'cs_test_of_somebody_else' }],
  ])('of %s is stored for manual review and not credited', async (_name, changes) => {
    const session = await stage.order();
    expect((await stage.pay(session, changes)).status).toBe(200);
    expect(await stage.balance()).toBe(0);
    expect(await stage.purchase(session)).toMatchObject({ status: 'mismatch', failure: expect.any(String) });
  });

  it('is credited to one purchase only', async () => {
    const [first, second] = [await stage.order(), await stage.order()];
    await stage.pay(first);
    await stage.pay(second, { payment_intent: paymentOf(first) });
    expect(await stage.balance()).toBe(TEN_DOLLARS);
    expect(await stage.purchase(second)).toMatchObject({ status: 'mismatch' });
  });

  it('that is the second of a purchase is stored for manual review', async () => {
    const session = await stage.order();
    await stage.pay(session);
    await stage.pay(session, { payment_intent: 'pi_another' });
    expect(await stage.balance()).toBe(TEN_DOLLARS);
    expect(await stage.purchase(session)).toMatchObject({ status: 'paid', failure: 'It was paid a second time.' });
  });

  it('is credited when its event precedes the response with the session', async () => {
    stage.stripe.answerOnce(async (asked, reply) => {
      const { client_reference_id: purchaseId = '' } = asked.fields;
      await stage.pay({
        purchaseId,
        organizationId: stage.client.organizationId,
        amountMicro: TEN_DOLLARS,
        sessionId: asked.id,
      });
      stage.stripe.give(asked, reply);
    });
    const { json } = await stage.client.call(stage.client.path('/billing/purchases'), {
      body: { amount_micro: TEN_DOLLARS },
    });
    expect(json).toMatchObject({ status: 'paid', checkout_url: null });
    expect(await stage.balance()).toBe(TEN_DOLLARS);
  });

  it('is credited when its event follows the expiry of the session', async () => {
    const session = await stage.order();
    await stage.deliver(signEvent('checkout.session.expired', paidSession(session)));
    expect(await stage.purchase(session)).toMatchObject({ status: 'expired' });
    await stage.pay(session);
    expect(await stage.purchase(session)).toMatchObject({ status: 'paid' });
    expect(await stage.balance()).toBe(TEN_DOLLARS);
    await stage.deliver(signEvent('checkout.session.expired', paidSession(session)));
    expect(await stage.purchase(session)).toMatchObject({ status: 'paid' });
  });

  it('that takes days is credited on success, and fails otherwise', async () => {
    const [arriving, failing] = [await stage.order(), await stage.order()];
    await stage.pay(arriving, { payment_status: 'unpaid' });
    await stage.pay(failing, { payment_status: 'unpaid' });
    expect(await stage.purchase(arriving)).toMatchObject({ status: 'processing', checkout_url: null });
    await stage.deliver(signEvent('checkout.session.async_payment_succeeded', paidSession(arriving)));
    await stage.deliver(signEvent('checkout.session.async_payment_failed', paidSession(failing)));
    expect(await stage.purchase(arriving)).toMatchObject({ status: 'paid' });
    expect(await stage.purchase(failing)).toMatchObject({ status: 'failed' });
    expect(await stage.balance()).toBe(TEN_DOLLARS);
  });
});

describe('Stripe events', () => {
  it.each<[string, SignedEvent]>([
    ['an unknown purchase', signEvent('checkout.session.completed', paidSession(unknownPurchase()))],
    ['an unknown purchase', signEvent('checkout.session.completed', { id: 'cs_1', client_reference_id: 'order 7' })],
    ['something else', signEvent('customer.created', { id: 'cus_1' })],
    ['an unknown payment', signEvent('charge.dispute.funds_withdrawn', { payment_intent: 'pi_unknown', amount: 1 })],
    ['nothing at all', signEvent('charge.refunded', [])],
  ])('about %s are accepted, so that Stripe stops retrying, and change nothing', async (_name, event) => {
    expect((await stage.deliver(event)).status).toBe(200);
    expect(
      await stage.gateway.rows(`SELECT 1 FROM audit_entry WHERE action = 'payment.received' AND organization_id = $1`, [
        stage.client.organizationId,
      ]),
    ).toEqual([]);
  });

  it('that are empty or not JSON are refused', async () => {
    const headers = signEvent('customer.created', {}).headers;
    expect((await stage.gateway.call(EVENTS, { method: 'POST', body: '{', headers })).json.error.code).toBe(
      'invalid_json',
    );
    expect((await stage.gateway.call(EVENTS, { method: 'POST', headers })).status).toBe(400);
  });
});

it('leaves a consistent ledger', async () => {
  expect(await stage.gateway.violations()).toEqual([]);
});

function resigned(body: string, options: { secret?: string; atMs?: number }): SignedEvent {
  const { type, data } = JSON.parse(body) as { type: string; data: { object: object } };
  return signEvent(type, data.object, options);
}

function unknownPurchase(): PaidSession {
  return { purchaseId: randomUUID(), organizationId: randomUUID(), amountMicro: TEN_DOLLARS, sessionId: 'cs_nobodys' };
}
