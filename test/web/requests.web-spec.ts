import { insertReceipts } from '../integration/usage/receipts';
import { UsageSweeps } from '../../src/billing/usage/usage-sweeps';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { TestGateway } from '../harness/gateway';

describeJourney('requests', () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await TestGateway.start();
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('are found by provider, cost and duration, and the filters are in the address and the export', async () => {
    const viewer = await gateway.dashboardUser({ role: 'viewer' });
    const { organizationId } = viewer;
    await insertReceipts(gateway.pool, { organizationId, count: 1_500, hours: 20, keys: 3 });
    await gateway.app.get(UsageSweeps, { strict: false }).roll();
    const user = await BrowserUser.signedIn(gateway, viewer);
    const { page } = user;
    await page.goto(`/dashboard/o/${organizationId}/requests`);
    const cost = page.getByLabel('Cost from ($)');
    await cost.fill('much');
    await cost.press('Enter');
    expect(await cost.getAttribute('aria-invalid')).toBe('true');
    await cost.fill('0.000799');
    await cost.press('Enter');
    await page.waitForURL(/min_cost_micro=799/);
    const rows = page.getByRole('region', { name: 'Requests' }).getByRole('row');
    await rows.nth(3).waitFor({ state: 'detached' });
    await page.getByLabel('Provider').fill('mock');
    await page.getByLabel('Provider').press('Enter');
    await page.waitForURL(/provider=mock/);
    // Both took at least this long, and one exactly.
    await page.getByLabel('Duration from (ms)').fill('398');
    await page.getByLabel('Duration from (ms)').press('Enter');
    await page.waitForURL(/min_total_ms=398/);
    await page.reload();
    await rows.nth(2).waitFor();
    expect(await rows.count()).toBe(3);
    await user.picture('requests-expensive');
    const csv = await page.getByRole('link', { name: 'CSV', exact: true }).getAttribute('href');
    expect((await viewer.call(String(csv))).text.trimEnd().split('\r\n')).toHaveLength(3);
    await page.getByLabel('Duration from (ms)').fill('498');
    await page.getByLabel('Duration from (ms)').press('Enter');
    await page.getByText('No request matches these filters').waitFor();
    await user.close();
  });

  it('are grouped by error code on the page of usage, which leads to those of one code', async () => {
    const viewer = await gateway.dashboardUser({ role: 'viewer' });
    const { organizationId } = viewer;
    await insertReceipts(gateway.pool, { organizationId, count: 200, hours: 20 });
    await gateway.app.get(UsageSweeps, { strict: false }).roll();
    const user = await BrowserUser.signedIn(gateway, viewer);
    const { page } = user;
    await page.goto(`/dashboard/o/${organizationId}/usage?range=7d&metric=requests`);
    await page.getByRole('combobox', { name: /^Group by/ }).selectOption('error_code');
    const group = page
      .getByRole('region', { name: 'Totals', exact: true })
      .getByRole('row', { name: /^provider_/ })
      .first();
    const code = await group.getByRole('link').innerText();
    const counted = await group.getByRole('cell').nth(2).innerText();
    await group.getByRole('link').click();
    await page.waitForURL((url) => url.searchParams.get('error_code') === code);
    await page.getByRole('region', { name: 'Requests', exact: true }).getByRole('row').nth(1).waitFor();
    expect(await page.locator('[data-row-link]').count()).toBe(Number(counted));
    await user.close();
  });

  it('are searched on with the next page when the search has paused', async () => {
    const viewer = await gateway.dashboardUser({ role: 'viewer' });
    const { organizationId } = viewer;
    await insertReceipts(gateway.pool, { organizationId, count: 60_000, hours: 20 });
    const user = await BrowserUser.signedIn(gateway, viewer);
    const { page } = user;
    await page.goto(`/dashboard/o/${organizationId}/requests?min_total_ms=901`);
    await page.getByText('No match among the latest requests').waitFor();
    await user.picture('requests-search-paused');
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('No request matches these filters').waitFor();
    await user.close();
  });
});
