import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { TestGateway } from '../harness/gateway';

describeJourney('the ledger', () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await TestGateway.start({ PAYMENT_PROVIDER: 'test' });
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('shows the balance after each entry, and leads from a payment to its purchase', async () => {
    const { organizationId, key } = await gateway.customer();
    const owner = await gateway.dashboardUser({ organizationId });
    const bought = await owner.call(owner.path('/billing/purchases'), { body: { amount_micro: 25_000_000 } });
    await gateway.call(new URL(String(bought.json.checkout_url)).pathname, {
      method: 'POST',
      headers: { 'x-requested-with': 'test' },
    });
    await gateway.call('/v1/chat/completions', {
      key,
      body: { model: 'mock/chat-1', messages: [{ role: 'user', content: '[[mock: delay=0]] Hello' }] },
    });
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    await page.goto(`/dashboard/o/${organizationId}/billing?tab=ledger`);
    const rows = page.getByRole('region', { name: 'Ledger' }).getByRole('row');
    await rows.nth(3).waitFor();
    expect(await rows.nth(3).getByRole('cell').last().innerText()).toBe('$10.00');
    expect(await rows.nth(2).getByRole('cell').last().innerText()).toBe('$35.00');
    expect(await rows.nth(1).getByRole('cell').last().innerText()).toMatch(/^\$34\.9/);
    await user.picture('ledger-balances');
    await rows
      .nth(2)
      .getByRole('link', { name: /^Purchase test:/ })
      .click();
    await page.getByRole('region', { name: 'Purchases' }).getByText('The credit was added.').waitFor();
    await user.close();
  });
});
