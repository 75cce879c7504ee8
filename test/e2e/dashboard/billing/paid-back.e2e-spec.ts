import type { LedgerEntry } from '../../../../src/contract/dashboard';
import { paidSession, type PaidSession, signEvent, type SignedEvent } from '../../../harness/stripe-server';
import { paymentOf, PaymentStage, TEN_DOLLARS } from './payment-stage';

let stage: PaymentStage;

beforeAll(async () => {
  stage = await PaymentStage.start();
});
beforeEach(() => stage.admitBuyer());
afterAll(() => stage.stop());

function refund(session: PaidSession, refundedMicro: number): SignedEvent {
  return signEvent('charge.refunded', {
    object: 'charge',
    payment_intent: paymentOf(session),
    metadata: { purchase_id: session.purchaseId },
    amount_refunded: refundedMicro / 10_000,
    currency: 'usd',
  });
}

/** A refund, as reported by the Stripe events for its creation and outcome. */
function oneRefund(type: string, session: PaidSession, id: string, micro: number, status = 'succeeded'): SignedEvent {
  return signEvent(type, {
    id,
    object: 'refund',
    amount: micro / 10_000,
    currency: 'usd',
    payment_intent: paymentOf(session),
    metadata: {},
    status,
  });
}

describe('refunds and disputes', () => {
  it('debit a refund once per step, in any order of events', async () => {
    const session = await stage.order();
    await stage.pay(session);
    const [first, second] = [refund(session, 3_000_000), refund(session, 5_000_000)];
    for (const event of [second, first, second]) expect((await stage.deliver(event)).status).toBe(200);
    expect(await stage.balance()).toBe(5_000_000);
    expect(await stage.purchase(session)).toMatchObject({ refunded_micro: 5_000_000, owed_micro: 0 });
  });

  it('credit a failed refund again once, in any order of events', async () => {
    const [inOrder, reversed] = [await stage.order(), await stage.order()];
    for (const session of [inOrder, reversed]) {
      const id = `re_${session.purchaseId.replaceAll('-', '')}`;
      const events = [
        oneRefund('refund.created', session, id, 4_000_000),
        refund(session, 4_000_000),
        oneRefund('refund.failed', session, id, 4_000_000, 'failed'),
        oneRefund('refund.updated', session, id, 4_000_000, 'failed'),
        oneRefund('charge.refund.updated', session, id, 4_000_000, 'failed'),
      ];
      await stage.pay(session);
      for (const event of session === inOrder ? events : events.toReversed()) await stage.deliver(event);
      for (const event of events) await stage.deliver(event);
      expect(await stage.purchase(session)).toMatchObject({ status: 'paid', refunded_micro: 0, owed_micro: 0 });
    }
    expect(await stage.balance()).toBe(2 * TEN_DOLLARS);
  });

  it('debit a second refund after a failed one', async () => {
    const session = await stage.order();
    const id = (number: number): string => `re_${number}_${session.purchaseId.replaceAll('-', '')}`;
    await stage.pay(session);
    await stage.deliver(refund(session, 4_000_000));
    await stage.deliver(oneRefund('refund.failed', session, id(1), 4_000_000, 'failed'));
    expect(await stage.balance()).toBe(TEN_DOLLARS);
    await stage.deliver(oneRefund('refund.created', session, id(2), 4_000_000));
    await stage.deliver(refund(session, 4_000_000));
    expect(await stage.balance()).toBe(6_000_000);
    expect(await stage.purchase(session)).toMatchObject({ refunded_micro: 4_000_000 });
  });

  it('are exact for five partial refunds, two of them failed, with all events and the payment concurrent', async () => {
    const session = await stage.order();
    const id = (part: number): string => `re_${part}_${session.purchaseId.replaceAll('-', '')}`;
    const parts = [1, 2, 3, 4, 5].flatMap((part) => [
      oneRefund('refund.created', session, id(part), 1_000_000, 'pending'),
      refund(session, part * 1_000_000),
      oneRefund('refund.updated', session, id(part), 1_000_000, part > 3 ? 'failed' : 'succeeded'),
    ]);
    const paid = signEvent('checkout.session.completed', paidSession(session));
    await Promise.all([...parts, paid, ...parts].map((event) => deliverUntilTaken(event)));
    expect(await stage.balance()).toBe(7_000_000);
    expect(await stage.purchase(session)).toMatchObject({ status: 'paid', refunded_micro: 3_000_000, owed_micro: 0 });
    expect(await stage.gateway.violations()).toEqual([]);
  });

  it('settle the owed amount first when a refund fails', async () => {
    const session = await stage.order();
    await stage.pay(session);
    await stage.gateway.rows(`SELECT money_post($1, 'adjust', -7000000, 'spent')`, [stage.client.organizationId]);
    const id = `re_${session.purchaseId.replaceAll('-', '')}`;
    await stage.deliver(oneRefund('refund.created', session, id, TEN_DOLLARS));
    expect(await stage.purchase(session)).toMatchObject({ refunded_micro: TEN_DOLLARS, owed_micro: 7_000_000 });
    const reply = await stage.deliver(oneRefund('refund.failed', session, id, TEN_DOLLARS, 'failed'));
    expect(await stage.balance()).toBe(3_000_000);
    expect(await stage.purchase(session)).toMatchObject({ refunded_micro: 0, owed_micro: 0 });
    const { json } = await stage.client.call(stage.client.path('/billing/ledger'));
    const entries = json.data.map((each: LedgerEntry) => [each.kind, each.purchase_id, each.balance_after_micro]);
    expect(entries).toEqual([
      ['adjust', session.purchaseId, 3_000_000],
      ['refund', session.purchaseId, 0],
      ['adjust', null, 3_000_000],
      ['topup', session.purchaseId, TEN_DOLLARS],
    ]);
    const [entry] = await stage.gateway.rows('SELECT action, before, after FROM audit_entry WHERE request_id = $1', [
      reply.headers.get('x-request-id'),
    ]);
    expect(entry).toMatchObject({
      action: 'payment.received',
      before: { refunded_micro: TEN_DOLLARS, owed_micro: 7_000_000 },
      after: { state: 'paid', amount_micro: TEN_DOLLARS },
    });
  });

  it('debit refunds reported before the payment once the payment is known, except failed ones', async () => {
    const session = await stage.order();
    const id = (number: number): string => `re_${number}_${session.purchaseId.replaceAll('-', '')}`;
    await stage.deliver(oneRefund('refund.created', session, id(1), 4_000_000, 'pending'));
    await stage.deliver(oneRefund('refund.failed', session, id(2), 3_000_000, 'failed'));
    await stage.deliver(refund(session, 7_000_000));
    expect(await stage.gateway.violations()).toEqual([]);
    await stage.pay(session);
    expect(await stage.balance()).toBe(6_000_000);
    expect(await stage.purchase(session)).toMatchObject({ refunded_micro: 4_000_000 });
  });

  it('debit a refund that precedes the payment once the payment is known', async () => {
    const session = await stage.order();
    await stage.deliver(refund(session, 4_000_000));
    expect(await stage.balance()).toBe(0);
    await stage.pay(session);
    expect(await stage.balance()).toBe(6_000_000);
  });

  it('debit only the free balance and record the rest as owed', async () => {
    const session = await stage.order();
    await stage.pay(session);
    await stage.gateway.rows(`SELECT money_post($1, 'adjust', -7000000, 'spent')`, [stage.client.organizationId]);
    await stage.deliver(refund(session, TEN_DOLLARS));
    expect(await stage.balance()).toBe(0);
    expect(await stage.purchase(session)).toMatchObject({ refunded_micro: TEN_DOLLARS, owed_micro: 7_000_000 });
  });

  const disputeOf = (type: string, session: PaidSession, number: number, micro: number, atMs: number): SignedEvent => {
    const id = `dp_${number}_${session.purchaseId.replaceAll('-', '')}`;
    const object = { id, object: 'dispute', payment_intent: paymentOf(session), amount: micro / 10_000 };
    return signEvent(`charge.dispute.${type}`, object, { atMs });
  };
  const dispute = (type: string, session: PaidSession, atMs: number): SignedEvent =>
    disputeOf(type, session, 1, TEN_DOLLARS, atMs);

  it('debit and credit two disputes of one payment once each, in any order of events', async () => {
    const [inOrder, reversed] = [await stage.order(), await stage.order()];
    const now = Date.now();
    for (const session of [inOrder, reversed]) {
      const taken = [
        disputeOf('funds_withdrawn', session, 1, 4_000_000, now - 60_000),
        disputeOf('funds_withdrawn', session, 2, 3_000_000, now - 50_000),
      ];
      const returned = [
        disputeOf('funds_reinstated', session, 1, 4_000_000, now - 40_000),
        disputeOf('funds_reinstated', session, 2, 3_000_000, now - 30_000),
      ];
      const [first, second] = session === inOrder ? returned : returned.toReversed();
      await stage.pay(session);
      for (const event of session === inOrder ? taken : taken.toReversed()) await stage.deliver(event);
      for (const event of taken) await stage.deliver(event);
      expect(await stage.purchase(session)).toMatchObject({ disputed_micro: 7_000_000, owed_micro: 0 });
      await stage.deliver(first as SignedEvent);
      expect(await stage.purchase(session)).toMatchObject({
        disputed_micro: session === inOrder ? 3_000_000 : 4_000_000,
      });
      await stage.deliver(second as SignedEvent);
      for (const event of [...returned, ...taken]) await stage.deliver(event);
      expect(await stage.purchase(session)).toMatchObject({ disputed_micro: 0, owed_micro: 0 });
      const entries = await stage.gateway.rows<{ kind: string; delta: string }>(
        `SELECT kind, organization_delta_micro::text AS delta FROM ledger_entry
          WHERE external_reference LIKE $1 ORDER BY kind, organization_delta_micro`,
        [`stripe:${paymentOf(session)}:%`],
      );
      expect(entries.map(({ kind, delta }) => [kind, Number(delta)])).toEqual([
        ['adjust', 3_000_000],
        ['adjust', 4_000_000],
        ['refund', -4_000_000],
        ['refund', -3_000_000],
      ]);
    }
    expect(await stage.balance()).toBe(2 * TEN_DOLLARS);
  });

  it('debit two disputes of the full amount at most once in total, until both are won', async () => {
    const session = await stage.order();
    const now = Date.now();
    // The first precedes the payment.
    await stage.deliver(disputeOf('funds_withdrawn', session, 1, TEN_DOLLARS, now - 60_000));
    await stage.pay(session);
    await stage.deliver(disputeOf('funds_withdrawn', session, 2, TEN_DOLLARS, now - 50_000));
    expect(await stage.balance()).toBe(0);
    expect(await stage.purchase(session)).toMatchObject({ owed_micro: 0 });
    await stage.deliver(disputeOf('funds_reinstated', session, 1, TEN_DOLLARS, now - 40_000));
    expect(await stage.balance()).toBe(0);
    await stage.deliver(disputeOf('funds_reinstated', session, 2, TEN_DOLLARS, now - 30_000));
    expect(await stage.balance()).toBe(TEN_DOLLARS);
  });

  it('credit of a lost dispute only what the bank returned, such as an earlier refund', async () => {
    const session = await stage.order();
    const now = Date.now();
    const id = session.purchaseId.replaceAll('-', '');
    await stage.pay(session);
    await stage.deliver(oneRefund('refund.created', session, `re_${id}`, 3_000_000));
    await stage.deliver(dispute('funds_withdrawn', session, now - 60_000));
    expect(await stage.balance()).toBe(0);
    const object = { id: `dp_1_${id}`, object: 'dispute', payment_intent: paymentOf(session), amount: 1_000 };
    const lost = { ...object, status: 'lost', balance_transactions: [{ amount: -1_000 }, { amount: 300 }] };
    await stage.deliver(signEvent('charge.dispute.funds_reinstated', lost, { atMs: now }));
    expect(await stage.purchase(session)).toMatchObject({ refunded_micro: 3_000_000, disputed_micro: 7_000_000 });
    expect(await stage.balance()).toBe(0);
  });

  it('credit a won dispute whose id was not stored when it began', async () => {
    const session = await stage.order();
    const now = Date.now();
    await stage.pay(session);
    await stage.deliver(dispute('funds_withdrawn', session, now - 60_000));
    await stage.gateway.rows('UPDATE payment_dispute SET id = payment_reference WHERE payment_reference = $1', [
      paymentOf(session),
    ]);
    await stage.deliver(dispute('funds_reinstated', session, now));
    expect(await stage.balance()).toBe(TEN_DOLLARS);
  });

  it('debit a dispute that precedes the payment once the payment is known, with its latest amount', async () => {
    const [disputed, returned, now] = [await stage.order(), await stage.order(), Date.now()];
    await stage.deliver(dispute('funds_withdrawn', disputed, now));
    await stage.deliver(dispute('funds_reinstated', returned, now));
    await stage.deliver(dispute('funds_withdrawn', returned, now - 60_000));
    await stage.pay(disputed);
    expect(await stage.balance()).toBe(0);
    expect(await stage.purchase(disputed)).toMatchObject({
      status: 'paid',
      disputed_micro: TEN_DOLLARS,
      owed_micro: 0,
    });
    await stage.pay(returned);
    expect(await stage.balance()).toBe(TEN_DOLLARS);
  });

  it('wait with a dispute until the payment is booked', async () => {
    const session = await stage.order();
    const lock = await stage.gateway.pool.connect();
    await lock.query('BEGIN');
    await lock.query('SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE', [
      stage.client.organizationId,
    ]);
    const paying = stage.pay(session);
    await stage.gateway.untilLockWaits(1);
    const disputing = stage.deliver(dispute('funds_withdrawn', session, Date.now()));
    await Promise.race([disputing, stage.gateway.untilLockWaits(2)]);
    await lock.query('ROLLBACK');
    lock.release();
    await Promise.all([paying, disputing]);
    expect(await stage.purchase(session)).toMatchObject({ disputed_micro: TEN_DOLLARS, owed_micro: 0 });
  });

  it('credit a won dispute again, in any order of events', async () => {
    const session = await stage.order();
    await stage.pay(session);
    const now = Date.now();
    await stage.deliver(dispute('funds_withdrawn', session, now - 60_000));
    expect(await stage.balance()).toBe(0);
    expect(await stage.purchase(session)).toMatchObject({ disputed_micro: TEN_DOLLARS });
    await stage.deliver(dispute('funds_reinstated', session, now));
    expect(await stage.balance()).toBe(TEN_DOLLARS);
    await stage.deliver(dispute('funds_withdrawn', session, now - 30_000));
    expect(await stage.balance()).toBe(TEN_DOLLARS);
    expect(await stage.purchase(session)).toMatchObject({ disputed_micro: 0, owed_micro: 0 });
  });
});

it('leaves a consistent ledger', async () => {
  expect(await stage.gateway.violations()).toEqual([]);
});

/** Redelivers refused events, as Stripe does. */
async function deliverUntilTaken(event: SignedEvent): Promise<void> {
  while ((await stage.deliver(event)).status !== 200);
}
