import { UsageSweeps } from '../../src/billing/usage/usage-sweeps';
import { insertReceipts } from '../integration/usage/receipts';
import { accessibilityProblems } from '../harness/accessibility';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { DashboardClient } from '../harness/dashboard-client';
import { TestGateway } from '../harness/gateway';
import { pictures } from '../harness/pictures';

const WIDE = { viewport: { width: 1440, height: 900 } };
const ROWS = '[data-row-link]';

describeJourney('the list of requests', () => {
  let gateway: TestGateway;
  let viewer: DashboardClient;
  let user: BrowserUser;

  beforeAll(async () => {
    gateway = await TestGateway.start();
  });
  beforeEach(async () => {
    viewer = await gateway.dashboardUser({ role: 'viewer' });
    const { organizationId } = viewer;
    await insertReceipts(gateway.pool, { organizationId, count: 400, hours: 48, keys: 2, models: 3 });
    await gateway.app.get(UsageSweeps, { strict: false }).roll();
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  const open = async (search = '', options = {}): Promise<void> => {
    user = await BrowserUser.signedIn(gateway, viewer, { ...WIDE, ...options });
    await user.page.goto(`/dashboard/o/${viewer.organizationId}/requests${search}`);
    await user.page.locator(ROWS).first().waitFor();
  };
  const panel = () => user.page.getByRole('region', { name: 'Receipt', exact: true });
  const hrefOf = (row: number) => user.page.locator(ROWS).nth(row).getAttribute('href');
  const focusedHref = () => user.page.locator(':focus').getAttribute('href');

  describe('a receipt next to it', () => {
    it('opens with Enter and takes the focus, Escape closes it and gives the focus back to the row', async () => {
      await open('?status=success');
      const { page } = user;
      for (let presses = 0; presses < 3; presses++) await page.keyboard.press('j');
      const href = await hrefOf(2);
      expect(await focusedHref()).toBe(href);
      await page.keyboard.press('Enter');
      await panel().getByText('Charged', { exact: true }).waitFor();
      expect(await page.locator(':focus').innerText()).toBe('Receipt');
      expect(new URL(page.url()).searchParams.get('status')).toBe('success');
      expect(await accessibilityProblems(page)).toEqual([]);
      await user.picture('request-panel');

      // The keys of the list go on from the row that is open.
      await page.keyboard.press('j');
      expect(await focusedHref()).toBe(await hrefOf(3));
      await page.keyboard.press('k');
      await page.keyboard.press('Enter');
      await panel().getByRole('button', { name: 'Close' }).press('Escape');
      await panel().waitFor({ state: 'detached' });
      expect(await focusedHref()).toBe(href);
      expect(new URL(page.url()).search).toBe('?status=success');
      await user.close();
    });

    it('shows the request of the address after a reload, and Back closes it', async () => {
      await open();
      const { page } = user;
      await page.locator(ROWS).nth(4).click();
      await panel().getByText('Charged', { exact: true }).waitFor();
      const request = new URL(page.url()).searchParams.get('request') ?? '';
      expect(await hrefOf(4)).toBe(`/dashboard/o/${viewer.organizationId}/requests/${request}`);
      await page.reload();
      await panel().getByText('Charged', { exact: true }).waitFor();
      expect(await page.locator(`${ROWS}[aria-current]`).getAttribute('href')).toContain(request);
      await page.goBack();
      await panel().waitFor({ state: 'detached' });
      await user.close();
    });

    it('is a page of its own in a new tab, on request, and on narrow screens, and Back scrolls to its row', async () => {
      await open();
      const { page } = user;
      const [tab] = await Promise.all([
        user.context.waitForEvent('page'),
        page
          .locator(ROWS)
          .first()
          .click({ modifiers: ['ControlOrMeta'] }),
      ]);
      await tab.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor();
      await page.locator(ROWS).nth(1).click();
      await panel().getByRole('link', { name: 'Open page' }).click();
      await page.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor();
      await page.goBack();
      await panel().getByText('Charged', { exact: true }).waitFor();
      await page.setViewportSize({ width: 800, height: 900 });
      expect((await panel().boundingBox())?.width).toBe(800);
      await panel().getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: 'Show more' }).click();
      await page.locator(ROWS).nth(80).scrollIntoViewIfNeeded();
      const scrolledTo = await page.evaluate('scrollY');
      expect(scrolledTo).toBeGreaterThan(0);
      await page.locator(ROWS).nth(80).click();
      const heading = page.getByRole('heading', { level: 1, name: 'Request', exact: true });
      await heading.and(page.locator(':focus')).waitFor();
      expect(await page.evaluate('scrollY')).toBe(0);
      await page.goBack();
      await page.locator('h1:focus').filter({ hasText: 'Requests' }).waitFor();
      expect(await page.evaluate('scrollY')).toBe(scrolledTo);
      await user.close();
    });

    it('says that there is no such request when the address names one of another organization', async () => {
      const other = await gateway.dashboardUser({ role: 'viewer' });
      await insertReceipts(gateway.pool, { organizationId: other.organizationId, count: 1, hours: 1 });
      const { rows } = await gateway.pool.query<{ id: string }>(
        'SELECT id FROM usage_record WHERE organization_id = $1',
        [other.organizationId],
      );
      await open();
      user.expectFailure(/^GET .*\/usage\/requests\/[\w-]+ 404$/);
      await user.page.goto(`/dashboard/o/${viewer.organizationId}/requests?request=${rows[0]?.id}`);
      await panel().getByText('There is no such request').waitFor();
      await user.close();
    });
  });

  describe('the volume above it', () => {
    it('counts what the series counts, and narrows the list to the hour of a column with the other filters', async () => {
      await open('?range=24h&status=success');
      const { page } = user;
      const chart = page.getByRole('figure', { name: 'Requests by hour' });
      const surface = chart.locator('.recharts-surface');
      await surface.locator('path').last().waitFor();
      await surface.hover();
      const count = page.getByRole('status').locator('li span').last();
      await count.waitFor();
      const counted = Number(await count.innerText());
      expect(counted).toBeGreaterThan(3);
      await surface.click();
      await page.waitForURL(/[?&]from=/);
      expect(new URL(page.url()).searchParams.get('status')).toBe('success');
      expect(new URL(page.url()).searchParams.get('range')).toBeNull();
      await page
        .locator(ROWS)
        .nth(counted - 1)
        .waitFor();
      await page.locator(ROWS).nth(counted).waitFor({ state: 'detached' });
      await user.close();
    });

    it('says by which filters it is not narrowed', async () => {
      await open('?provider=mock&min_cost_micro=1');
      await user.page.getByText('Not filtered by provider or cost.').waitFor();
      await pictures(user, 'requests-volume');
      await user.close();
    });
  });

  describe('its columns', () => {
    it('are those that the user has chosen in this browser, also after a reload, and not those of another user', async () => {
      await open();
      const { page } = user;
      const heads = () => page.getByRole('region', { name: 'Requests', exact: true }).getByRole('columnheader');
      const usual = await heads().allInnerTexts();
      expect(usual).not.toContain('Provider');
      await page.getByRole('button', { name: 'Columns' }).press('Enter');
      await page.getByRole('menuitemcheckbox', { name: 'Provider' }).click();
      await page.getByRole('menuitemcheckbox', { name: 'Tokens' }).click();
      await pictures(user, 'request-columns');
      await page.keyboard.press('Escape');
      const chosen = [...usual.filter((head) => head !== 'Tokens'), 'Provider'];
      expect(await heads().allInnerTexts()).toEqual(chosen);
      await page.reload();
      await page.locator(ROWS).first().waitFor();
      expect(await heads().allInnerTexts()).toEqual(chosen);

      const colleague = await gateway.dashboardUser({ organizationId: viewer.organizationId, role: 'viewer' });
      await user.context.addCookies([
        { name: 'sid', value: colleague.cookie.slice('sid='.length), domain: new URL(gateway.url).hostname, path: '/' },
      ]);
      await page.reload();
      await page.locator(ROWS).first().waitFor();
      expect(await heads().allInnerTexts()).toEqual(usual);
      await user.close();
    });

    it('are the usual ones again on request', async () => {
      await open();
      const { page } = user;
      await page.getByRole('button', { name: 'Columns' }).click();
      await page.getByRole('menuitemcheckbox', { name: 'Cost' }).click();
      await page.getByRole('columnheader', { name: 'Cost' }).waitFor({ state: 'detached' });
      await page.getByRole('menuitem', { name: 'Default columns' }).click();
      await page.getByRole('columnheader', { name: 'Cost' }).waitFor();
      await user.close();
    });
  });
});
