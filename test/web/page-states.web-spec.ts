import { randomUUID } from 'node:crypto';
import type { Page, Route } from 'playwright-core';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { DashboardClient } from '../harness/dashboard-client';
import { TestGateway } from '../harness/gateway';
import { OPERATOR_PAGES, ORGANIZATION_PAGES } from './page-paths';

/** What a page needs to know who its reader is; everything else is its content. */
const READER = /\/dashboard\/api\/(?:me|about)$/;
const PAGES = [
  '/account',
  ...ORGANIZATION_PAGES.map((path) => `/o/$org${path}`),
  ...OPERATOR_PAGES.map((path) => `/operator${path}`),
];

/** Holds the reads of a page, then refuses them, then lets them pass. */
class HeldReads {
  private mode: 'hold' | 'refuse' | 'pass' = 'hold';
  private readonly held: Route[] = [];

  async take(route: Route): Promise<void> {
    if (this.mode === 'pass' || READER.test(new URL(route.request().url()).pathname)) await route.continue();
    else if (this.mode === 'hold') this.held.push(route);
    else await refuse(route);
  }

  async refuseAll(): Promise<void> {
    this.mode = 'refuse';
    await Promise.all(this.held.map(refuse));
  }

  passAll(): void {
    this.mode = 'pass';
  }
}

async function refuse(route: Route): Promise<void> {
  const error = { type: 'server_error', code: 'service_unavailable', message: 'Not now.', request_id: 'req_held' };
  await route.fulfill({ status: 503, headers: { 'x-should-retry': 'false' }, json: { error } });
}

describeJourney('the states of every page', () => {
  let gateway: TestGateway;
  let owner: DashboardClient;
  let user: BrowserUser;

  beforeAll(async () => {
    gateway = await TestGateway.start();
    owner = await gateway.dashboardUser({ role: 'owner', operator: true });
    user = await BrowserUser.signedIn(gateway, owner);
    user.expectFailure(/^GET .* (?:503|404)$/);
  });
  afterAll(async () => {
    await user.close();
    await closeBrowser();
    await gateway.stop();
  });

  /** Takes every offer to try again, until the page makes none. */
  async function tryAll(page: Page): Promise<void> {
    const offers = page.locator('main').getByRole('button', { name: 'Try again' });
    while ((await offers.count()) > 0) {
      const before = await offers.count();
      await offers.first().click();
      await offers.nth(before - 1).waitFor({ state: 'detached' });
    }
  }

  it.each(PAGES)('are a skeleton, then the reason and an offer to try again, then the content: %s', async (path) => {
    const { page } = user;
    const reads = new HeldReads();
    await page.route('**/dashboard/api/**', (route) => reads.take(route));
    const address = path.replaceAll(/\$(\w+)/g, (_all, name) => (name === 'org' ? owner.organizationId : randomUUID()));
    await page.goto(`/dashboard${address}`);
    const main = page.locator('main');
    await main.locator('.animate-pulse').first().waitFor();
    await reads.refuseAll();
    await main.getByText('Not now.').first().waitFor();
    await main.getByText('req_held').first().waitFor();
    await main.getByRole('button', { name: 'Try again' }).first().waitFor();
    reads.passAll();
    await tryAll(page);
    await main.getByText('Not now.').first().waitFor({ state: 'detached' });
    await main.locator('.animate-pulse').first().waitFor({ state: 'detached' });
    await main.getByRole('heading', { level: 1 }).waitFor();
    await page.unroute('**/dashboard/api/**');
  });
});
