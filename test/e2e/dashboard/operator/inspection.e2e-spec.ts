import { randomUUID } from 'node:crypto';
import type { OperatorPurchase } from '../../../../src/contract/dashboard';
import type { DashboardClient } from '../../../harness/dashboard-client';
import { type PaidSession, signEvent } from '../../../harness/stripe-server';
import { paymentOf, PaymentStage, TEN_DOLLARS } from '../billing/payment-stage';
import { OPERATOR } from './operator-stage';

let stage: PaymentStage;
let operator: DashboardClient;
beforeAll(async () => {
  stage = await PaymentStage.start();
  operator = await stage.gateway.dashboardUser({ operator: true });
});
beforeEach(() => stage.admitBuyer());
afterAll(() => stage.stop());

const within = (below: string, organizationId = stage.client.organizationId): string =>
  `${OPERATOR}/organizations/${organizationId}${below}`;

async function purchasesAt(path: string): Promise<OperatorPurchase[]> {
  return (await operator.call(path)).json.data;
}

describe('what operators read of an organization', () => {
  it('has the members and keys that the organization itself reads, without being a member', async () => {
    await stage.gateway.dashboardUser({ organizationId: stage.client.organizationId, role: 'viewer' });
    const created: { json: { key: string; api_key: { id: string } } } = await stage.client.call(
      stage.client.path('/keys'),
      { body: { name: 'ci' } },
    );
    const second = await stage.client.call(stage.client.path('/keys'), { body: { name: 'old' } });
    await stage.client.call(stage.client.path(`/keys/${second.json.api_key.id}/revoke`), { method: 'POST' });
    const keyLists = [
      '/keys',
      '/keys?status=active',
      '/keys?kind=playground',
      '/keys?search=OL&revoked=true&order=name',
    ];
    for (const list of ['/members', '/members?limit=1', ...keyLists]) {
      const { json } = await operator.call(within(list));
      expect(json).toEqual((await stage.client.call(stage.client.path(list))).json);
    }
    expect((await operator.call(within(keyLists.at(-1) ?? ''))).json.data).toHaveLength(1);
    const keys = await operator.call(within('/keys?status=active'));
    expect(keys.json.data).toEqual([expect.objectContaining({ id: created.json.api_key.id, name: 'ci' })]);
    expect(keys.text).not.toContain(created.json.key);
    const { json: first } = await operator.call(within('/members?limit=1'));
    const { json: rest } = await operator.call(within(`/members?limit=1&cursor=${first.next_cursor}`));
    expect(rest.data[0].user_id).toBe(stage.client.userId);
  });

  it('has its purchases with the references of the payment provider and without the payment page', async () => {
    const [paid, open] = [await stage.order(), await stage.order(20_000_000)];
    await stage.pay(paid);
    const [newest, oldest] = await purchasesAt(within('/purchases'));
    expect(newest).toMatchObject({ id: open.purchaseId, status: 'pending', payment_reference: null });
    expect(newest).toMatchObject({ checkout_reference: open.sessionId, amount_micro: 20_000_000 });
    expect(oldest).toMatchObject({
      object: 'operator.purchase',
      id: paid.purchaseId,
      organization_id: stage.client.organizationId,
      organization_name: 'test',
      status: 'paid',
      needs_review: false,
      payment_reference: paymentOf(paid),
      created_by: stage.client.userId,
    });
    expect(oldest).not.toHaveProperty('checkout_url');
    expect(await purchasesAt(within('/purchases?status=paid'))).toEqual([oldest]);
  });

  it.each(['/members', '/keys', '/purchases'])('is 404 for unknown organizations (%s)', async (below) => {
    for (const id of [randomUUID(), 'no-id', '%00']) {
      const { status, json } = await operator.call(within(below, id));
      expect([status, json.error.code]).toEqual([404, 'not_found']);
    }
  });

  it.each([
    ['status=lost', 'status'],
    ['needs_review=1', 'needs_review'],
    ['needs_review=true&needs_review=true', 'needs_review'],
    ['organization_id=1', 'organization_id'],
  ])('refuses ?%s and names the parameter', async (query, param) => {
    for (const path of [within('/purchases'), `${OPERATOR}/purchases`]) {
      const reply = await operator.call(`${path}?${query}`);
      expect(reply).toMatchObject({ status: 400, json: { error: { code: 'validation_failed', param } } });
    }
  });
});

describe('the purchases that need a review', () => {
  /** Pays back more than the balance has left. */
  async function payBackUncovered(session: PaidSession): Promise<void> {
    await stage.pay(session);
    await stage.gateway.rows(`SELECT money_post($1, 'adjust', -7000000, 'spent')`, [session.organizationId]);
    const refund = {
      object: 'charge',
      payment_intent: paymentOf(session),
      metadata: { purchase_id: session.purchaseId },
      amount_refunded: TEN_DOLLARS / 10_000,
      currency: 'usd',
    };
    await stage.deliver(signEvent('charge.refunded', refund));
  }

  it('end with a note in the audit log, and return when the payment changes again', async () => {
    const twice = await stage.order();
    await stage.pay(twice);
    const review = (id: string, note = 'paid back by hand') =>
      operator.call(`${OPERATOR}/purchases/${id}/review`, { body: { note } });
    expect((await review(twice.purchaseId)).json.error.code).toBe('conflict');
    await stage.pay(twice, { payment_intent: `pi_${randomUUID()}` });
    const toReview = async () => (await purchasesAt(within('/purchases?needs_review=true'))).map(({ id }) => id);
    expect(await toReview()).toEqual([twice.purchaseId]);

    for (let repeated = 0; repeated < 2; repeated++) {
      const { json } = await review(twice.purchaseId);
      expect(json).toMatchObject({ id: twice.purchaseId, needs_review: false, reviewed_at: expect.any(String) });
    }
    expect(await toReview()).toEqual([]);
    const { json: log } = await stage.client.call(stage.client.path('/audit-log?action=purchase.reviewed'));
    expect(log.data[0]).toMatchObject({
      after: { state: 'paid', note: 'paid back by hand' },
      actor: { kind: 'operator' },
    });

    await stage.pay(twice, { payment_intent: `pi_${randomUUID()}` });
    expect(await toReview()).toEqual([twice.purchaseId]);
    expect((await review(randomUUID())).json.error.code).toBe('not_found');
    await review(twice.purchaseId, 'paid back again');
  });

  it('are those of all organizations that differ, were paid twice, or owe an amount', async () => {
    const differing = await stage.order();
    await stage.pay(differing, { amount_total: 1 });
    const twice = await stage.order();
    await stage.pay(twice);
    await stage.pay(twice, { payment_intent: `pi_${randomUUID()}` });
    await stage.pay(await stage.order());
    await stage.admitBuyer();
    const owed = await stage.order();
    await payBackUncovered(owed);
    await stage.order();

    const path = `${OPERATOR}/purchases?needs_review=true`;
    const reviewed = await purchasesAt(path);
    expect(reviewed.map(({ id }) => id)).toEqual([owed, twice, differing].map(({ purchaseId }) => purchaseId));
    expect(reviewed.map((each) => [each.needs_review, each.status, each.owed_micro, each.failure])).toEqual([
      [true, 'paid', 7_000_000, null],
      [true, 'paid', 0, 'It was paid a second time.'],
      [true, 'mismatch', 0, 'Another amount was paid.'],
    ]);
    const mismatches = await purchasesAt(`${OPERATOR}/purchases?status=mismatch`);
    expect(mismatches.map(({ id }) => id)).toEqual([differing.purchaseId]);
    expect((await purchasesAt(within('/purchases?needs_review=true'))).map(({ id }) => id)).toEqual([owed.purchaseId]);
    const fine = await purchasesAt(`${OPERATOR}/purchases?needs_review=false&limit=100`);
    const all = await purchasesAt(`${OPERATOR}/purchases?limit=100`);
    expect(fine).toEqual(all.filter((each) => !each.needs_review));

    const { json: first } = await operator.call(`${path}&limit=2`);
    const { json: rest } = await operator.call(`${path}&limit=2&cursor=${first.next_cursor}`);
    expect([...first.data, ...rest.data]).toEqual(reviewed);
    expect(rest.next_cursor).toBeNull();
  });
});
