import { Mailer, type Mail } from '../../src/core/mail/mailer';
import { tablesThatScroll } from '../harness/accessibility';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { DashboardClient } from '../harness/dashboard-client';
import { TestGateway } from '../harness/gateway';

let gateway: TestGateway;
const mails: Mail[] = [];

/** Opens a page of the client's organization. */
async function openPage(client: DashboardClient, path: string, heading: string): Promise<BrowserUser> {
  const user = await BrowserUser.signedIn(gateway, client);
  await user.page.goto(`/dashboard/o/${client.organizationId}${path}`);
  await user.page.getByRole('heading', { level: 1, name: heading }).waitFor();
  return user;
}

const colleagueOf = (owner: DashboardClient, role: 'viewer' | 'developer' | 'admin' | 'owner') =>
  gateway.dashboardUser({ role, organizationId: owner.organizationId });

async function rename({ userId }: DashboardClient, name: string): Promise<void> {
  await gateway.rows('UPDATE user_account SET name = $2 WHERE id = $1', [userId, name]);
}

describeJourney('the people of an organization', () => {
  beforeAll(async () => {
    gateway = await TestGateway.start();
    jest.spyOn(gateway.app.get(Mailer, { strict: false }), 'send').mockImplementation(async (mail) => {
      mails.push(mail);
    });
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('invites, invites again and withdraws, changes a role, and removes a member', async () => {
    const owner = await gateway.dashboardUser();
    const grace = await colleagueOf(owner, 'developer');
    await rename(owner, 'Ada Lovelace');
    await rename(grace, 'Grace Hopper');
    const joan = await colleagueOf(owner, 'viewer');
    await rename(joan, 'Joan Clarke');
    await rename(await colleagueOf(owner, 'viewer'), 'Wolfeschlegelsteinhausen'.repeat(8));
    const user = await openPage(owner, '/members', 'Members');
    const { page } = user;

    await page.getByRole('button', { name: 'Invite member' }).click();
    const form = page.getByRole('dialog', { name: /^Invite to/ });
    await form.getByLabel('E-mail').fill('alan@example.com');
    await form.getByLabel('Role').selectOption('admin');
    await user.picture('invite');
    await form.getByRole('button', { name: 'Send invitation' }).click();
    const invitations = page.getByRole('region', { name: 'Invitations' });
    await invitations.getByText('alan@example.com', { exact: true }).waitFor();
    expect(mails.map(({ to }) => to)).toEqual(['alan@example.com']);
    await page.setViewportSize({ width: 640, height: 800 });
    expect(await tablesThatScroll(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await user.picture('members');
    await Promise.all([
      page.waitForResponse(/\/invitations$/),
      invitations.getByRole('button', { name: 'Send again to alan@example.com' }).click(),
    ]);
    expect(mails).toHaveLength(2);
    await invitations.getByRole('button', { name: 'Withdraw the invitation of alan@example.com' }).click();
    await page.getByRole('button', { name: 'Withdraw invitation' }).click();
    await page.getByText('No pending invitations.').waitFor();

    await page.getByRole('button', { name: `Change role of Grace Hopper (${grace.email})` }).click();
    const dialog = page.getByRole('dialog', { name: `Role of Grace Hopper (${grace.email})` });
    await dialog.getByLabel('Role').selectOption('viewer');
    await dialog.getByRole('button', { name: 'Change role' }).click();
    await page.getByText('Grace Hopper is now viewer').waitFor();

    // The page lists Joan until it asks again.
    await gateway.rows('DELETE FROM organization_member WHERE user_id = $1', [joan.userId]);
    user.expectFailure(/^DELETE .*\/members\/[^/]+ 404$/);
    await page.getByRole('button', { name: `Remove Joan Clarke (${joan.email})` }).click();
    await page.getByRole('button', { name: 'Remove member' }).click();
    await page.getByRole('alert').getByText('There is no such member.').waitFor();
    await page.getByRole('region', { name: 'Members' }).getByTitle('Joan Clarke').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Cancel' }).click();

    await page.getByRole('button', { name: `Remove Grace Hopper (${grace.email})` }).click();
    await user.picture('member-remove');
    await page.getByRole('button', { name: 'Remove member' }).click();
    await page.getByText('Member removed').waitFor();
    const members = page.getByRole('region', { name: 'Members' });
    await members.getByTitle('Grace Hopper').waitFor({ state: 'detached' });
    await user.close();
  });

  it('keeps a name that is being typed when another member renames the organization, and shows theirs before', async () => {
    const owner = await gateway.dashboardUser();
    const colleague = await colleagueOf(owner, 'admin');
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    await page.clock.install();
    await page.goto(`/dashboard/o/${owner.organizationId}/settings`);
    const field = page.getByLabel('Name', { exact: true });
    const renameElsewhere = async (name: string): Promise<void> => {
      expect((await colleague.call(colleague.path(''), { method: 'PATCH', body: { name } })).status).toBe(200);
      // What was loaded is old enough to be loaded again when the tab is shown.
      await page.clock.fastForward(61_000);
      await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
      await page.getByRole('button', { name: 'Leave organization' }).click();
      const dialog = page.getByRole('dialog', { name: `Leave ${name}?` });
      await dialog.waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    };
    await field.waitFor();
    await renameElsewhere('Theirs');
    expect(await field.inputValue()).toBe('Theirs');
    await field.press('End');
    await field.pressSequentially(' and mine');
    await renameElsewhere('Theirs again');
    expect(await field.inputValue()).toBe('Theirs and mine');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByText('Name saved').waitFor();
    await user.close();
  });

  it('shows each role the pages and actions it has, and keeps hidden pages empty', async () => {
    const owner = await gateway.dashboardUser();
    const pages: Record<string, { readonly hidden: readonly string[]; readonly invites: boolean }> = {
      viewer: { hidden: ['Audit log', 'Explain'], invites: false },
      developer: { hidden: ['Audit log'], invites: false },
      admin: { hidden: [], invites: true },
    };
    for (const role of ['viewer', 'developer', 'admin'] as const) {
      const user = await openPage(await colleagueOf(owner, role), '/members', 'Members');
      const { page } = user;
      const navigation = page.getByRole('navigation', { name: 'Pages' });
      const expected = pages[role] ?? { hidden: [], invites: false };
      for (const name of ['Overview', 'API keys', 'Explain', 'Members', 'Audit log', 'Settings']) {
        expect([role, name, await navigation.getByRole('link', { name }).count()]).toEqual([
          role,
          name,
          expected.hidden.includes(name) ? 0 : 1,
        ]);
      }
      expect(await navigation.getByText('Operator').count()).toBe(0);
      const invite = page.getByRole('button', { name: 'Invite member' });
      expect(await invite.isEnabled()).toBe(expected.invites);
      if (!expected.invites) expect(await invite.innerText()).toContain('needs admin');
      // An admin changes everyone but owners.
      await page.getByText(owner.email).waitFor();
      expect(await page.getByRole('row', { name: owner.email }).getByRole('button').count()).toBe(0);

      const calls: string[] = [];
      page.on('request', (request) => calls.push(new URL(request.url()).pathname));
      await page.goto(`/dashboard/o/${owner.organizationId}/audit`);
      const allowed = !expected.hidden.includes('Audit log');
      await page
        .getByRole('heading', { level: 1, name: allowed ? 'Audit log' : 'This page needs the role admin' })
        .waitFor();
      if (!allowed) await page.getByText(owner.email).waitFor();
      expect(calls.some((path) => path.endsWith('/audit-log'))).toBe(allowed);
      await page.goto('/dashboard/operator/users');
      await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor();
      expect(calls.some((path) => path.startsWith('/dashboard/api/operator'))).toBe(false);
      await user.close();
    }
  });

  it('shows a role that was lowered meanwhile at the next action', async () => {
    const owner = await gateway.dashboardUser();
    const admin = await colleagueOf(owner, 'admin');
    const user = await openPage(admin, '/members', 'Members');
    const { page } = user;
    const change = { method: 'PATCH', body: { role: 'viewer' } };
    await owner.call(owner.path(`/members/${admin.userId}`), change);
    user.expectFailure(/^POST .*\/invitations 403$/);
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByRole('dialog').getByLabel('E-mail').fill('alan@example.com');
    await page.getByRole('button', { name: 'Send invitation' }).click();
    await page.getByRole('alert').getByText('Your role does not allow this.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Invite member (needs admin)' }).waitFor();
    user.expectFailure(/^GET .* 404$/);
    await owner.call(owner.path(`/members/${admin.userId}`), { method: 'DELETE' });
    await page.getByRole('link', { name: 'API keys', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'There is no such organization' }).waitFor();
    await user.close();
  });

  it('keeps the last owner, in the list of members and when leaving', async () => {
    const owner = await gateway.dashboardUser();
    const user = await openPage(owner, '/members', 'Members');
    const { page } = user;
    user.expectFailure(/^PATCH .*\/members\/[^/]+ 409$/);
    await page.getByRole('button', { name: /^Change role/ }).click();
    await page.getByRole('dialog').getByLabel('Role').selectOption('admin');
    await page.getByRole('dialog').getByRole('button', { name: 'Change role' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    user.expectFailure(/^POST .*\/leave 409$/);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Leave organization' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave organization' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    const rows = await gateway.rows('SELECT role FROM organization_member WHERE organization_id = $1', [
      owner.organizationId,
    ]);
    expect(rows).toEqual([{ role: 'owner' }]);
    await user.close();
  });

  it('renames an organization everywhere, shows the limits of the operator, and leaves', async () => {
    const owner = await gateway.dashboardUser();
    await gateway.rows('UPDATE organization SET requests_per_minute = 1200 WHERE id = $1', [owner.organizationId]);
    const second = await colleagueOf(owner, 'owner');
    const user = await openPage(second, '/settings', 'Settings');
    const { page } = user;
    await page.getByText('1,200').waitFor();
    user.expectFailure(/^PATCH .* 400$/);
    await page.getByLabel('Name').fill('visit https://example.com');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.locator('[aria-invalid="true"]').waitFor();
    await page.getByLabel('Name').fill('Analytical Engines');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByRole('button', { name: 'Organization: Analytical Engines' }).waitFor();
    await user.picture('settings');
    await page.getByRole('button', { name: 'Leave organization' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave organization' }).click();
    await page.getByRole('heading', { level: 1, name: 'New organization' }).waitFor();
    await user.picture('organization-new');
    await page.getByLabel('Name').fill('Difference Engines');
    await page.getByRole('button', { name: 'Create organization' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('button', { name: 'Organization: Difference Engines' }).waitFor();
    await user.close();
  });

  it('shows who changed what, changed fields only, with filters that survive a reload', async () => {
    const owner = await gateway.dashboardUser();
    const developer = await colleagueOf(owner, 'developer');
    const { json } = await developer.call(developer.path('/keys'), {
      body: { name: 'production', requests_per_minute: 60 },
    });
    const path = developer.path(`/keys/${json.api_key.id}`);
    await developer.call(path, { method: 'PATCH', body: { daily_budget_micro: 12_500_000 } });
    await owner.call(`${path}/disable`, { method: 'POST' });

    const user = await openPage(owner, '/audit', 'Audit log');
    const { page } = user;
    const items = page.getByRole('main').getByRole('listitem');
    await items.filter({ hasText: 'API key disabled' }).waitFor();
    expect(await items.count()).toBe(4);
    const changed = items.filter({ hasText: 'API key changed' });
    expect(await changed.getByRole('row').allInnerTexts()).toEqual([
      expect.stringContaining('Field'),
      expect.stringMatching(/daily budget\s+–\s+→ \$12\.50/),
    ]);
    await user.picture('audit');
    await page.getByRole('combobox', { name: 'By' }).selectOption(developer.email);
    await items.filter({ hasText: 'API key disabled' }).waitFor({ state: 'detached' });
    // The list is empty while it loads.
    await items.nth(1).waitFor();
    expect(await items.count()).toBe(2);
    await page.getByRole('combobox', { name: 'Change' }).selectOption('API key created');
    await items.filter({ hasText: 'API key changed' }).waitFor({ state: 'detached' });
    await page.reload();
    await items.filter({ hasText: 'API key created' }).waitFor();
    expect(await items.count()).toBe(1);
    await page.getByLabel('Until (UTC)').fill('2020-01-01');
    await page.getByText('No change matches').waitFor();
    await page.getByRole('button', { name: 'Remove filters' }).click();
    await items.filter({ hasText: 'API key disabled' }).waitFor();
    await user.close();
  });
});
