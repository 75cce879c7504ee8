import { randomUUID } from 'node:crypto';
import { source as axeSource } from 'axe-core';
import type { Page } from 'playwright-core';
import { ANSWER_MICRO, OPERATOR, OperatorStage } from '../e2e/dashboard/operator/operator-stage';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { TestCustomer } from '../harness/gateway';

/** What axe finds wrong with the page. */
async function violationsOn(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate<string[]>(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html)))',
  );
}

describeJourney('inspection by operators', () => {
  let stage: OperatorStage;
  let customer: TestCustomer;
  let user: BrowserUser;

  beforeAll(async () => {
    stage = await OperatorStage.start({ MOCK_MEDIA_PROVIDER: 'true', WORKER: 'none' });
    customer = await stage.gateway.customer();
  });
  afterAll(async () => {
    await closeBrowser();
    await stage.stop();
  });
  beforeEach(async () => {
    user = await BrowserUser.signedIn(stage.gateway, stage.operator);
  });
  afterEach(() => user.close());

  it('shows the members, keys and purchases of an organization, payments that need attention, and waiting jobs', async () => {
    const { organizationId } = customer;
    await stage.gateway.rows(
      `INSERT INTO purchase (id, organization_id, provider, state, amount_micro, failure, created_at, expires_at, ended_at)
       VALUES ($1, $2, 'stripe', 'mismatch', 25000000, 'Another amount was paid.', now(), now(), now())`,
      [randomUUID(), organizationId],
    );
    await stage.gateway.call('/v1/video/generations', {
      key: customer.key,
      headers: { 'idempotency-key': randomUUID() },
      body: { model: 'mock/video-1', prompt: 'a boat' },
    });
    const member = await stage.gateway.dashboardUser({ organizationId, role: 'viewer' });
    await user.page.goto('/dashboard/operator');
    const attention = user.page.getByRole('region', { name: 'Payments that need attention' });
    await attention.getByText('Another amount was paid.').waitFor();
    await user.page.getByText('1 waiting, oldest').waitFor();
    await user.picture('operator-platform-attention');
    await attention.getByRole('button', { name: 'Mark as reviewed' }).click();
    await user.page.getByLabel('What you found').fill('paid back by hand');
    await user.page.getByRole('dialog').getByRole('button', { name: 'Mark as reviewed' }).click();
    await user.page.getByText('Every payment matches its order').waitFor();
    await user.page.goto(`/dashboard/operator/organizations/${organizationId}`);
    await user.page.getByRole('heading', { level: 1, name: 'test' }).waitFor();
    const region = (name: string) => user.page.getByRole('region', { name, exact: true });
    await region('Members').getByText(member.email).waitFor();
    await region('API keys').getByText('Active').waitFor();
    await region('Purchases').getByText('$25.00').waitFor();
    await user.picture('operator-organization-lists');
    expect(await violationsOn(user.page)).toEqual([]);
  });

  it('shows the usage of a key, of a model and of the whole platform as the API counts it', async () => {
    const { organizationId, key, keyId } = await stage.gateway.customer();
    const body = { model: 'local/chat', messages: [{ role: 'user', content: 'Hello' }] };
    for (let calls = 0; calls < 3; calls++) await stage.gateway.call('/v1/chat/completions', { key, body });
    const viewer = await stage.gateway.dashboardUser({ organizationId, role: 'viewer' });
    const reader = await BrowserUser.signedIn(stage.gateway, viewer);
    for (const [path, filter] of [
      [`keys/${keyId}`, `key_id=${keyId}`],
      ['models/local/chat', 'model=local/chat'],
    ] as const) {
      const { json } = await viewer.call(viewer.path(`/usage/series?interval=day&${filter}`));
      expect(json.total).toMatchObject({ requests: 3, cost_micro: 3 * ANSWER_MICRO });
      await reader.page.goto(`/dashboard/o/${organizationId}/${path}`);
      const summary = reader.page.getByRole('region', { name: 'Last 30 days' });
      await summary.getByTitle(`${json.total.cost_micro} micro-dollars`, { exact: true }).waitFor();
      expect(await summary.getByRole('definition').nth(1).innerText()).toBe('3');
    }
    await reader.close();
    const { json: platform } = await stage.operator.call(`${OPERATOR}/usage/series?interval=hour`);
    await user.page.goto('/dashboard/operator');
    const main = user.page.locator('main');
    await main.getByText('Revenue').waitFor();
    await main.getByTitle(`${platform.total.cost_micro} micro-dollars`, { exact: true }).first().waitFor();
    const busiest = user.page.getByRole('region', { name: 'Busiest organizations' });
    await busiest.getByTitle(`${3 * ANSWER_MICRO} micro-dollars`, { exact: true }).waitFor();
  });

  it('says of a list that is empty because of its filters that they are the reason', async () => {
    const { page } = user;
    await page.goto('/dashboard/operator/credentials?search=absent');
    await page.getByText('No credential matches').waitFor();
    await page.goto('/dashboard/operator/providers?show=failing&search=absent');
    await page.getByText('No failing deployment matches').waitFor();
    await page.goto('/dashboard/operator/audit?from=2001-01-01&to=2001-01-02');
    await page.getByText('No change matches these filters').waitFor();
    await page.getByRole('button', { name: 'Show all changes' }).click();
    await page.getByText('No change matches these filters').waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('');
  });
});
