import type { Page } from 'playwright-core';
import { paymentOf, PaymentStage } from '../e2e/dashboard/billing/payment-stage';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { pictures } from '../harness/pictures';
import { type PaidSession, signEvent } from '../harness/stripe-server';

describeJourney('payments that Stripe reports', () => {
  let stage: PaymentStage;

  beforeAll(async () => {
    stage = await PaymentStage.start();
    await stage.admitBuyer();
  });
  afterAll(async () => {
    await closeBrowser();
    await stage.stop();
  });

  async function refund(session: PaidSession, micro: number): Promise<void> {
    const amounts = { amount: micro / 10_000, currency: 'usd', payment_intent: paymentOf(session) };
    const id = `re_${session.purchaseId.replaceAll('-', '')}`;
    await stage.deliver(signEvent('refund.created', { id, object: 'refund', status: 'succeeded', ...amounts }));
  }

  async function dispute(kind: string, session: PaidSession, atMs: number): Promise<void> {
    const { amountMicro, purchaseId } = session;
    const amounts = { amount: amountMicro / 10_000, currency: 'usd', payment_intent: paymentOf(session) };
    const status = kind === 'funds_reinstated' ? 'won' : 'needs_response';
    const object = { id: `dp_${purchaseId.replaceAll('-', '')}`, object: 'dispute', status, ...amounts };
    await stage.deliver(signEvent(`charge.dispute.${kind}`, object, { atMs }));
  }

  async function openPage(user: BrowserUser, path: string, text: string): Promise<Page> {
    await user.page.goto(path);
    await user.page.getByText(text).first().waitFor();
    return user.page;
  }

  it('are named for what they did: in purchases, ledger and audit log, and to the operator', async () => {
    const [refunded, disputed, wrong, twice] = [
      await stage.order(10_000_000),
      await stage.order(8_000_000),
      await stage.order(17_000_000),
      await stage.order(16_000_000),
    ];
    for (const session of [refunded, disputed, twice]) await stage.pay(session);
    await refund(refunded, 3_500_000);
    const now = Date.now();
    await dispute('funds_withdrawn', disputed, now - 20_000);
    await dispute('funds_reinstated', disputed, now - 10_000);
    await stage.pay(wrong, { amount_total: 1_000 });
    await stage.pay(twice, { payment_intent: 'pi_another' });
    const { organizationId } = stage.client;
    const organization = `/dashboard/o/${organizationId}`;

    const user = await BrowserUser.signedIn(stage.gateway, stage.client);
    await openPage(user, `${organization}/billing?tab=purchases`, '$3.50 refunded');
    const mismatch = user.page.getByRole('row').filter({ hasText: 'mismatch' });
    expect(await mismatch.innerText()).toContain('Another amount was paid. The operator reviews it');
    await pictures(user, 'payments-purchases');
    const ledger = (await openPage(user, `${organization}/billing?tab=ledger`, '−$3.50')).getByRole('region', {
      name: 'Ledger',
    });
    for (const amount of ['+$10.00', '−$3.50', '+$16.00']) await ledger.getByText(amount).waitFor();
    // Paid, and returned by the bank.
    expect(await ledger.getByText('+$8.00').count()).toBe(2);
    expect(await ledger.getByText('−$8.00').count()).toBe(1);
    const audit = await openPage(user, `${organization}/audit`, 'Disputed amount returned');
    const changes = audit.getByRole('main').getByRole('listitem');
    const heads = (await changes.allInnerTexts()).map((text) => text.split('\n')[0]);
    expect(heads.slice(0, 5)).toEqual([
      'Payment needs a review',
      'Payment differs from the order',
      'Disputed amount returned',
      'Payment disputed',
      'Payment refunded',
    ]);
    await user.picture('payments-audit');
    await user.close();

    const staff = await stage.gateway.dashboardUser({ operator: true });
    const operator = await BrowserUser.signedIn(stage.gateway, staff);
    await openPage(operator, `/dashboard/operator/organizations/${organizationId}`, 'Payment disputed $8.00');
    for (const text of ['Payment refunded $3.50', 'Disputed amount returned $8.00', 'Payment received $16.00']) {
      await operator.page.getByText(text, { exact: true }).waitFor();
    }
    await operator.picture('payments-operator');
    const platform = await openPage(operator, '/dashboard/operator', 'It was paid a second time.');
    const attention = platform.getByRole('region', { name: 'Payments that need attention' });
    await attention.getByRole('button', { name: /: payment of \$17\.00 by test$/ }).waitFor();
    await attention.getByRole('button', { name: /: payment of \$16\.00 by test$/ }).click();
    await platform.getByRole('dialog', { name: 'Mark the payment of $16.00 by “test” as reviewed?' }).waitFor();
    await operator.close();
  });
});
