import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { LedgerService } from '../../src/billing/ledger/ledger.service';
import type { Role } from '../../src/core/types/role';
import { withArchivedDay } from '../harness/archived-day';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { findFreePort } from '../harness/child-process';
import type { DashboardClient } from '../harness/dashboard-client';
import { TestGateway } from '../harness/gateway';
import { pictures } from '../harness/pictures';

describeJourney('billing', () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    // Payment pages link back to the dashboard, so its port must be known before it starts.
    gateway = await TestGateway.start({ PORT: String(await findFreePort()), PAYMENT_PROVIDER: 'test' });
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  interface Visit {
    readonly user: BrowserUser;
    readonly page: Page;
    readonly member: DashboardClient;
  }

  async function visit(role: Role, { creditMicro = 0n, search = '' } = {}): Promise<Visit> {
    const member = await gateway.dashboardUser({ role });
    if (creditMicro > 0n) {
      await gateway.app.get(LedgerService, { strict: false }).topUp(member.organizationId, creditMicro, 'initial');
    }
    const user = await BrowserUser.signedIn(gateway, member);
    await user.page.goto(`/dashboard/o/${member.organizationId}/billing${search}`);
    await user.page.getByRole('heading', { level: 1, name: 'Billing' }).waitFor();
    return { user, page: user.page, member };
  }

  const purchasesOf = ({ organizationId }: DashboardClient): Promise<Array<{ status: string }>> =>
    gateway.rows('SELECT state AS status FROM purchase WHERE organization_id = $1', [organizationId]);

  const tile = (page: Page, label: string) => page.getByText(label, { exact: true }).locator('..');

  it('sells credit: order, test page, back, paid; a double click orders once', async () => {
    const { user, page, member } = await visit('admin');
    await pictures(user, 'billing-empty');
    await page.getByRole('button', { name: 'Buy credit' }).click();
    await page.getByLabel('Amount in US dollars').fill('12.34');
    await pictures(user, 'billing-buy');
    await page.getByRole('button', { name: 'Continue to payment' }).dblclick();
    await page.getByRole('heading', { name: 'Test payment' }).waitFor();
    expect(await purchasesOf(member)).toEqual([{ status: 'pending' }]);
    await page.getByText('Credit for 12.34 USD').waitFor();
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.waitForURL('**/billing?purchase=*&outcome=paid');
    await page.getByText('Paid: $12.34 of credit').waitFor();
    await tile(page, 'Available').getByTitle('12340000 micro-dollars').waitFor();
    await pictures(user, 'billing-paid');
    await page.getByRole('button', { name: 'Close' }).click();
    await page.waitForURL('**/billing');
    await page.getByRole('link', { name: 'Ledger' }).click();
    await page.getByRole('region', { name: 'Ledger' }).getByText('+$12.34').waitFor();
    await user.close();
  });

  it('waits for the confirmation of a payment that arrives after the buyer', async () => {
    const { user, page, member } = await visit('admin');
    const { json } = await member.call(member.path('/billing/purchases'), { body: { amount_micro: 5_000_000 } });
    await page.goto(`/dashboard/o/${member.organizationId}/billing?purchase=${json.id}&outcome=paid`);
    await page.getByText('Waiting for the confirmation of $5.00').waitFor();
    await gateway.call(`/dashboard/api/payments/test/${json.id}`, {
      method: 'POST',
      headers: { 'x-requested-with': 'test' },
    });
    await page.getByText('Paid: $5.00 of credit').waitFor();
    await user.close();
  });

  it('names the refunded amount, and the part that the balance did not cover', async () => {
    const { user, page, member } = await visit('admin');
    await member.call(member.path('/billing/purchases'), { body: { amount_micro: 5_000_000 } });
    await gateway.rows(
      'UPDATE purchase SET refunded_micro = 3000000, owed_micro = 3000000 WHERE organization_id = $1',
      [member.organizationId],
    );
    await page.goto(`/dashboard/o/${member.organizationId}/billing?tab=purchases`);
    const purchases = page.getByRole('region', { name: 'Purchases' });
    await purchases.getByText('$3.00 refunded').waitFor();
    await purchases.getByText('$3.00 still owed').waitFor();
    await pictures(user, 'billing-refunded');
    await user.close();
  });

  it('lets a buyer leave the payment page, pay later, or withdraw the order', async () => {
    const { user, page, member } = await visit('admin');
    await page.getByRole('button', { name: 'Buy credit' }).click();
    await page.getByRole('button', { name: '$50' }).click();
    await page.getByRole('button', { name: 'Continue to payment' }).click();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.waitForURL('**/billing?purchase=*&outcome=canceled');
    await page.getByText('$50.00 not paid').waitFor();
    expect(await page.getByRole('link', { name: 'Continue to payment' }).getAttribute('href')).toContain(
      '/payments/test/',
    );
    await page.getByRole('link', { name: 'Purchases' }).click();
    await page.getByRole('region', { name: 'Purchases' }).getByText('pending').waitFor();
    await pictures(user, 'billing-purchases');
    await page.getByRole('button', { name: 'Withdraw' }).click();
    const confirm = page.getByRole('dialog', { name: 'Withdraw the purchase of $50.00?' });
    await pictures(user, 'billing-withdraw');
    await confirm.getByRole('button', { name: 'Withdraw' }).click();
    await page.getByRole('region', { name: 'Purchases' }).getByText('canceled').waitFor();
    expect(await purchasesOf(member)).toEqual([{ status: 'canceled' }]);
    await user.close();
  });

  it('refuses an amount at its field, in the words of the page', async () => {
    const { user, page, member } = await visit('admin');
    await page.getByRole('button', { name: 'Buy credit' }).click();
    const amount = page.getByLabel('Amount in US dollars');
    await amount.fill('10.001');
    await page.keyboard.press('Enter');
    await page.getByText('Enter an amount in whole cents').waitFor();
    expect(await amount.getAttribute('aria-invalid')).toBe('true');
    for (const outside of ['0.99', '10000.01']) {
      await amount.fill(outside);
      await page.getByText('Enter an amount').waitFor({ state: 'detached' });
      await page.keyboard.press('Enter');
      await page.getByText('Enter an amount from $1.00 to $10,000.00.').waitFor();
      expect(await amount.getAttribute('aria-invalid')).toBe('true');
    }
    expect(await purchasesOf(member)).toEqual([]);
    await user.close();
  });

  it.each([
    [1n, '$0.000001'],
    [9_007_199_254_740_991n, '$9,007,199,254.740991'],
  ])('shows %s micro-units exactly, as balance and in the ledger', async (creditMicro, text) => {
    const { user, page } = await visit('admin', { creditMicro });
    expect(await tile(page, 'Balance').locator('[title$=micro-dollars]').innerText()).toBe(text);
    await page.getByRole('link', { name: 'Ledger' }).click();
    await page.getByRole('region', { name: 'Ledger' }).getByText(`+${text}`).waitFor();
    await pictures(user, `billing-ledger-${creditMicro}`);
    await user.close();
  });

  it('has the same entries in the ledger and its CSV, with the filters in the URL', async () => {
    const customer = await gateway.customer();
    for (const content of ['one', 'two', 'three']) {
      const body = { model: 'mock/chat-1', messages: [{ role: 'user', content: `[[mock: delay=0]] ${content}` }] };
      expect((await gateway.call('/v1/chat/completions', { key: customer.key, body })).status).toBe(200);
    }
    const admin = await gateway.dashboardUser({ role: 'admin', organizationId: customer.organizationId });
    const user = await BrowserUser.signedIn(gateway, admin, { timezoneId: 'America/Argentina/Buenos_Aires' });
    const { page } = user;
    await page.goto(`/dashboard/o/${customer.organizationId}/billing?tab=ledger`);
    const rows = page.getByRole('region', { name: 'Ledger' }).locator('tbody tr');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(4);
    await pictures(user, 'billing-ledger');
    for (const width of [360, 768]) {
      await page.setViewportSize({ width, height: 800 });
      const table = page.getByRole('region', { name: 'Ledger' });
      const hidden = await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
      expect({ width, hidden }).toEqual({ width, hidden: 0 });
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByLabel('Kind').selectOption('charge');
    await page.waitForURL('**/billing?tab=ledger&kind=charge');
    await page.getByText('+$10.00').waitFor({ state: 'detached' });
    // The table is empty while it loads.
    await rows.filter({ hasText: 'Charge' }).nth(2).waitFor();
    const shown = await rows
      .locator('[title$=micro-dollars]')
      .evaluateAll((amounts) => amounts.map((amount) => amount.getAttribute('title')?.split(' ')[0]));
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV', exact: true }).click(),
    ]);
    const [head = '', ...lines] = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    const columns = ['amount_micro', 'balance_after_micro'].map((name) => head.split(',').indexOf(name));
    expect(lines.flatMap((line) => columns.map((column) => line.split(',')[column]))).toEqual(shown);
    await page.goto(`/dashboard/o/${customer.organizationId}/billing?tab=holds`);
    await page.getByText('Nothing is held').waitFor();
    await user.close();
  });

  it('says which charges the ledger does not have any more', async () => {
    const { user, page } = await visit('admin', { creditMicro: 1_000_000n });
    await withArchivedDay(gateway, '2026-01-31', async () => {
      await page.getByRole('link', { name: 'Ledger' }).click();
      await page.getByText('Charges of requests before 2026-02-01 (UTC) have been archived.').waitFor();
      await pictures(user, 'billing-ledger-archived');
    });
    await user.close();
  });

  it('lets an owner change the limits, and an admin only read them', async () => {
    const { user, page } = await visit('owner', { creditMicro: 3_000_000n });
    await page.getByRole('button', { name: 'Change limits' }).click();
    const limit = page.getByLabel('Spending limit per month, in dollars');
    await limit.fill('ten');
    await page.keyboard.press('Enter');
    await page.getByText('Digits with at most six decimals').waitFor();
    await limit.fill('250.5');
    await page.getByLabel('Send a mail when available credit falls below').fill('5');
    await page.keyboard.press('Enter');
    await page.getByText('$0.00 of $250.50').waitFor();
    await tile(page, 'Low-balance mail below').getByText('$5.00').waitFor();
    await pictures(user, 'billing');
    await user.close();

    const admin = await visit('admin');
    await admin.page.getByText('Owners can change the limits.').waitFor();
    expect(await admin.page.getByRole('button', { name: 'Change limits' }).count()).toBe(0);
    await admin.user.close();
  });

  it('shows viewers the balance and nothing of the ledger', async () => {
    const { user, page, member } = await visit('viewer', { search: '?tab=ledger' });
    await tile(page, 'Available').waitFor();
    expect(await page.getByRole('button', { name: 'Buy credit (needs admin)' }).isDisabled()).toBe(true);
    expect(await page.getByRole('link', { name: 'Ledger' }).count()).toBe(0);
    await page.goto(`/dashboard/o/${member.organizationId}/billing?purchase=${crypto.randomUUID()}&outcome=paid`);
    await page.getByText('Owners and admins can see').waitFor();
    await user.close();
  });

  it('leaves a consistent ledger', async () => {
    expect(await gateway.violations()).toEqual([]);
  });
});
