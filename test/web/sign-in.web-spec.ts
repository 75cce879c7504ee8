import type { Page } from 'playwright-core';
import { UserAdministrationService } from '../../src/dashboard/accounts/user-administration.service';
import { OrganizationService } from '../../src/dashboard/organizations/organization.service';
import { COMMAND_LINE } from '../../src/core/types/actor';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { TestGateway } from '../harness/gateway';

const EMAIL = 'ada@example.com';
const OTHER_EMAIL = 'grace@example.com';
const PASSWORD = 'a password of this test';

async function fillSignIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

describeJourney('signing in', () => {
  let gateway: TestGateway;
  let organizationId: string;

  beforeAll(async () => {
    gateway = await TestGateway.start();
    const { id } = await gateway.app
      .get(OrganizationService, { strict: false })
      .create({ name: 'Analytical Engines' }, COMMAND_LINE);
    organizationId = id;
    const users = gateway.app.get(UserAdministrationService, { strict: false });
    const membership = { organizationId: id, role: 'owner' } as const;
    await users.create({ email: EMAIL, name: 'Ada', password: PASSWORD, isOperator: true, membership }, COMMAND_LINE);
    const other = { email: OTHER_EMAIL, name: 'Grace', password: PASSWORD, isOperator: false, membership: null };
    await users.create(other, COMMAND_LINE);
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('takes one key press with the link that the start of the gateway prints, and sends nothing before', async () => {
    const user = await BrowserUser.open(gateway);
    const { page } = user;
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    await page.goto(`/dashboard/login#${new URLSearchParams({ email: EMAIL, password: PASSWORD })}`);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.getByLabel('E-mail').inputValue()).toBe(EMAIL);
    expect(page.url()).toBe(`${gateway.url}/dashboard/login`);
    expect(sent.filter((url) => url.includes('/dashboard/api/'))).toEqual([]);
    await user.picture('login');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await page.title()).toBe('Overview · Analytical Engines · Gateway');
    await user.picture('overview');
    await user.close();
  });

  /** Two tabs of one browser in which Ada is signed in. */
  async function twoTabs(): Promise<{ readonly user: BrowserUser; readonly first: Page; readonly second: Page }> {
    const user = await BrowserUser.open(gateway);
    const { page: first } = user;
    await first.goto('/dashboard/login');
    await fillSignIn(first, EMAIL);
    await first.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const second = await user.context.newPage();
    await second.goto(`/dashboard/o/${organizationId}/settings`);
    await second.getByLabel('Name', { exact: true }).fill('typed in the second tab');
    return { user, first, second };
  }

  it('shows another user who signs in in one tab in all tabs, with nothing of the first user', async () => {
    const { user, first, second } = await twoTabs();
    await second.evaluate('sessionStorage.setItem("draft of Ada", "a prompt")');
    await first.goto('/dashboard/login');
    await fillSignIn(first, OTHER_EMAIL);
    await second.getByRole('button', { name: `Account: ${OTHER_EMAIL}` }).waitFor();
    const kept = '[document.documentElement.outerHTML, JSON.stringify(sessionStorage)].join()';
    const seen = String(await second.evaluate(kept));
    for (const text of [EMAIL, 'Analytical Engines', 'a prompt']) expect(seen).not.toContain(text);
    await second.reload();
    await second.getByRole('button', { name: `Account: ${OTHER_EMAIL}` }).waitFor();
    await user.close();
  });

  it('asks to sign in again in one tab only, and keeps what was typed in the others', async () => {
    const { user, first, second } = await twoTabs();
    user.expectFailure(/ 401$/);
    // A tab with a later version of the pages may send more.
    await first.evaluate(`for (const message of [{ type: 'later' }, 'later', null])
      new BroadcastChannel('dashboard-session').postMessage(message)`);
    await gateway.rows('DELETE FROM user_session');
    // A poll may have noticed before, and its dialog covers the link.
    await first.getByRole('link', { name: 'Members' }).dispatchEvent('click');
    await second.getByRole('button', { name: 'Save name' }).dispatchEvent('click');
    for (const tab of [first, second]) await tab.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await second.getByText('Not signed in, or the session has expired.').waitFor();
    await fillSignIn(first, EMAIL);
    await first.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
    await second.getByRole('dialog', { name: 'Your session has ended' }).waitFor({ state: 'detached' });
    expect(await second.getByLabel('Name', { exact: true }).inputValue()).toBe('typed in the second tab');
    expect(await second.getByText('Not signed in, or the session has expired.').count()).toBe(0);
    await second.getByRole('button', { name: 'Save name' }).click();
    await second.getByRole('button', { name: 'Organization: typed in the second tab' }).waitFor();
    await user.close();
  });

  it.each([
    ['keys', 'API keys', 'q=1234&show=[1]'],
    ['keys', 'API keys', 'q=[1,2]&order={"a":1}'],
    ['models', 'Models', 'q={}&modality=null'],
    ['audit', 'Audit log', 'from=1&until=never&actor=[]'],
    ['playground/chat', 'Playground', 'model={"a":1}'],
  ])('opens %s after a sign-in, the page “%s”, whatever its search values are: %s', async (path, heading, search) => {
    const user = await BrowserUser.open(gateway);
    const { page } = user;
    await page.goto(`/dashboard/login?${new URLSearchParams({ next: `/o/${organizationId}/${path}?${search}` })}`);
    await fillSignIn(page, EMAIL);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await user.close();
  });
});
