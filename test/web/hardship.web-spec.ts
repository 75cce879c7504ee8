import type { Page } from 'playwright-core';
import { UserAdministrationService } from '../../src/dashboard/accounts/user-administration.service';
import { COMMAND_LINE } from '../../src/core/types/actor';
import { accessibilityProblems } from '../harness/accessibility';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { DashboardClient } from '../harness/dashboard-client';
import { TestGateway } from '../harness/gateway';

describeJourney('the pages in hardship', () => {
  let gateway: TestGateway;
  let owner: DashboardClient;

  beforeAll(async () => {
    gateway = await TestGateway.start();
    owner = await gateway.dashboardUser({ role: 'owner' });
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  const at = (below = ''): string => `/dashboard/o/${owner.organizationId}${below}`;

  async function visit(): Promise<{ user: BrowserUser; page: Page }> {
    const user = await BrowserUser.signedIn(gateway, owner);
    return { user, page: user.page };
  }

  it('can be used with the keyboard alone, from signing in to a revoked key and out', async () => {
    const account = { email: 'keyboard@example.com', name: 'Ada', password: 'typed by this test', isOperator: false };
    const membership = { organizationId: owner.organizationId, role: 'owner' as const };
    await gateway.app
      .get(UserAdministrationService, { strict: false })
      .create({ ...account, membership }, COMMAND_LINE);
    const user = await BrowserUser.open(gateway);
    const { page } = user;
    await page.goto('/dashboard/login');
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.keyboard.type(account.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(account.password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const search = page.getByRole('combobox', { name: 'Search pages and objects' });
    const openPage = async (name: string): Promise<void> => {
      await page.keyboard.press('Control+K');
      await search.waitFor();
      await page.keyboard.type(name);
      await page.getByRole('option', { name }).first().waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name }).waitFor();
    };
    await openPage('API keys');
    const focused = (): Promise<{ text: string; visible: boolean }> =>
      page.evaluate(() => {
        const element = document.activeElement;
        if (element === null || element === document.body) return { text: '', visible: false };
        // The link of a row draws its outline around the row.
        const outlines = [getComputedStyle(element), getComputedStyle(element, '::after')];
        const text = element.getAttribute('aria-label') ?? element.textContent;
        return { text, visible: outlines.some(({ outlineStyle }) => outlineStyle !== 'none') };
      });
    const tabTo = async (text: string, key = 'Tab'): Promise<void> => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press(key);
        const now = await focused();
        expect(now.visible).toBe(true);
        // A table that scrolls has all its text.
        if (now.text.includes(text) && now.text.length < text.length + 20) return;
      }
      throw new Error(`The keyboard does not reach ${text}`);
    };
    await tabTo('Skip to the content', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await tabTo('Create key');
    await page.keyboard.press('Enter');
    await page.keyboard.type('keyboard');
    await page.keyboard.press('Enter');
    await page.locator('[data-secret]').waitFor();
    await tabTo('I have copied the key');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await focused()).text).toContain('Create key');
    await page.keyboard.press('Control+K');
    await search.waitFor();
    await page.keyboard.type('keyboard');
    await page.getByRole('option', { name: /^keyboard …/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'keyboard' }).waitFor();
    expect((await focused()).text).toContain('keyboard');
    await tabTo('Revoke');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect((await focused()).text).toBe('Cancel');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await owner.call(owner.path('/keys?status=revoked'))).json.data).toHaveLength(1);
    await openPage('Overview');
    await tabTo(`Account: ${account.email}`, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await user.close();
  });

  it('show skeletons on a slow network, and ask once', async () => {
    const newcomer = await gateway.dashboardUser({ role: 'owner' });
    const user = await BrowserUser.signedIn(gateway, newcomer);
    const { page } = user;
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 400,
      downloadThroughput: 50_000,
      uploadThroughput: 50_000,
    });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.goto(`/dashboard/o/${newcomer.organizationId}/keys`);
    await page.locator('.animate-pulse').first().waitFor();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    await page.getByText('No keys yet').waitFor();
    const reads = asked.filter((line) => line.endsWith('/me'));
    expect(reads).toHaveLength(1);
    await user.close();
  });

  it('say that the browser is offline, and load again when the connection is back', async () => {
    const { user, page } = await visit();
    await page.goto(at('/settings'));
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    await user.context.setOffline(true);
    await page.getByText('You are offline.').waitFor();
    const read = page.waitForResponse((response) => new URL(response.url()).pathname === owner.path(''));
    await user.context.setOffline(false);
    await read;
    await page.getByText('You are offline.').waitFor({ state: 'detached' });

    // The code of the next page is missing. To load the document again would leave a blank one.
    user.expectFailure(/^ApiError: The service could not be reached/);
    await user.context.setOffline(true);
    await page.getByRole('link', { name: 'Members' }).click();
    const failure = page.getByRole('alert').filter({ hasText: 'No connection' });
    const asked = page.waitForEvent('requestfailed', (request) => request.method() === 'HEAD');
    await failure.getByRole('button', { name: 'Try again' }).click();
    await asked;
    await user.context.setOffline(false);
    await failure.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { level: 1, name: 'Members' }).waitFor();
    await user.close();
  });

  it('keep the dashboard when a proxy answers in place of the service', async () => {
    const { user, page } = await visit();
    await page.goto(at('/settings'));
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    user.expectFailure(/502|^ApiError: The service could not be reached/);
    await user.context.route('**/*', (route) => route.fulfill({ status: 502, body: 'Bad Gateway' }));
    await page.getByRole('link', { name: 'Members' }).click();
    const retry = page.getByRole('alert').filter({ hasText: 'No connection' }).getByRole('button');
    const asked = page.waitForResponse((response) => response.request().method() === 'HEAD');
    await retry.click();
    await asked;
    await user.context.unroute('**/*');
    await retry.click();
    await page.getByRole('heading', { level: 1, name: 'Members' }).waitFor();
    await user.close();
  });

  it('open the navigation on a narrow screen where the reader is, and lead on from there', async () => {
    const { user, page } = await visit();
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto('/dashboard/account');
    await page.getByRole('heading', { level: 2, name: 'Sessions' }).scrollIntoViewIfNeeded();
    const menu = page.getByRole('button', { name: 'Pages', exact: true });
    const drawer = page.getByRole('dialog', { name: 'Pages' });
    await menu.click();
    const link = drawer.getByRole('link', { name: 'Models' });
    const { y = -1 } = (await link.boundingBox()) ?? {};
    expect(y).toBeGreaterThan(0);
    expect(y).toBeLessThan(640);
    expect(await accessibilityProblems(page)).toEqual([]);
    await user.picture('drawer-narrow');
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
    expect(await menu.evaluate((element) => element === document.activeElement)).toBe(true);
    await menu.click();
    await link.click();
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    await drawer.waitFor({ state: 'detached' });
    await user.close();
  });

  it('close the navigation and the search when the reader goes back or forward', async () => {
    const { user, page } = await visit();
    await page.goto('/dashboard/account');
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    const search = page.getByRole('dialog', { name: 'Search' });
    await page.keyboard.press('Control+k');
    await search.waitFor();
    await page.goBack();
    await search.waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1, name: 'Account' }).waitFor();
    await page.setViewportSize({ width: 320, height: 640 });
    await page.getByRole('button', { name: 'Pages', exact: true }).click();
    const drawer = page.getByRole('dialog', { name: 'Pages' });
    await drawer.waitFor();
    await page.goForward();
    await drawer.waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor();
    await user.close();
  });

  it('leave out of an address what no page knows', async () => {
    const { user, page } = await visit();
    await page.goto(at('/keys?show=everything&order=best'));
    await page.getByRole('link', { name: 'Live', exact: true }).and(page.locator('[aria-current=page]')).waitFor();
    await page.waitForURL((url) => url.search === '');
    await page.goto(at('/audit?from=yesterday&actor=me'));
    await page.getByRole('heading', { level: 2, name: 'Changes' }).waitFor();
    expect(new URL(page.url()).search).toBe('');
    await user.close();
  });

  it('say what to do about a 503, a lost connection and a reply cut off, and go on', async () => {
    const { user, page } = await visit();
    user.expectFailure(/^GET .* 503$/);
    let mode: 'refuse' | 'cut' | 'drop' | 'serve' = 'refuse';
    await page.route('**/billing/balance', async (route) => {
      if (mode === 'refuse') {
        await route.fulfill({
          status: 503,
          headers: { 'x-should-retry': 'false' },
          json: {
            error: { type: 'server_error', code: 'service_unavailable', message: 'Try again.', request_id: 'req_1' },
          },
        });
      } else if (mode === 'cut') await route.fulfill({ status: 200, contentType: 'application/json', body: '{"obj' });
      else if (mode === 'drop') await route.abort('connectionreset');
      else await route.continue();
    });
    await page.goto(at('/billing'));
    const main = page.locator('main');
    await main.getByText('Server error').waitFor();
    await main.getByText('req_1').waitFor();
    // A read without a whole answer is repeated, so the page recovers by itself.
    mode = 'cut';
    const cut = page.waitForResponse(/billing\/balance$/);
    await main.getByRole('button', { name: 'Try again' }).click();
    await cut;
    mode = 'drop';
    await page.waitForEvent('requestfailed');
    mode = 'serve';
    await main.getByText('Available').first().waitFor();
    await user.close();
  });

  it('offer the new version when a file of the old one is gone', async () => {
    const { user, page } = await visit();
    user.expectFailure(/assets\/members-page.* 404$/);
    user.expectFailure(/Failed to fetch dynamically imported module/);
    await page.goto(at('/keys'));
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    let isGone = true;
    await page.route('**/assets/members-page-*.js', (route) =>
      isGone ? route.fulfill({ status: 404, body: '' }) : route.continue(),
    );
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Members' }).click();
    await page.getByText('The dashboard was updated').waitFor();
    isGone = false;
    await page.getByRole('button', { name: 'Load the new version' }).click();
    await page.getByRole('heading', { level: 1, name: 'Members' }).waitFor();
    await user.close();
  });
});
