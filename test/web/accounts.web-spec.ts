import { randomUUID } from 'node:crypto';
import { FollowUpWork } from '../../src/dashboard/accounts/follow-up-work';
import { UserAdministrationService } from '../../src/dashboard/accounts/user-administration.service';
import { Mailer, type Mail } from '../../src/core/mail/mailer';
import { systemClock, type Clock } from '../../src/core/time/clock';
import { COMMAND_LINE } from '../../src/core/types/actor';
import type { Role } from '../../src/core/types/role';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { TestGateway } from '../harness/gateway';
import { goBackInPage } from './leaving';

const PASSWORD = 'a password of this test';

/** The real time plus an offset. */
class MovedClock implements Clock {
  aheadMs = 0;

  now(): number {
    return systemClock.now() + this.aheadMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.aheadMs;
  }
}

const clock = new MovedClock();
const mails: Mail[] = [];
let gateway: TestGateway;

const newEmail = (): string => `${randomUUID()}@example.com`;

/** The path of the link in the latest mail to an address, when what follows replies has ended. */
async function linkTo(email: string): Promise<string> {
  await gateway.app.get(FollowUpWork, { strict: false }).flush();
  const text = mails.findLast(({ to }) => to === email)?.text ?? '';
  return /\/dashboard\/\S+#token=[\w-]{43}/.exec(text)?.[0] ?? `no link in: ${text}`;
}

const tokenOf = (link: string): string => link.slice(link.indexOf('=') + 1);

/** A verified account with the password of these tests. */
async function newUser(name = 'Ada', membership: { organizationId: string; role: Role } | null = null) {
  const email = newEmail();
  const account = { email, name, password: PASSWORD, isOperator: false, membership };
  await gateway.app.get(UserAdministrationService, { strict: false }).create(account, COMMAND_LINE);
  return email;
}

async function fillSignIn({ page }: BrowserUser, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function signIn(user: BrowserUser, email: string, password = PASSWORD): Promise<void> {
  await user.page.goto('/dashboard/login');
  await fillSignIn(user, email, password);
  await user.page.getByRole('button', { name: /^Account:/ }).waitFor();
}

const heading = ({ page }: BrowserUser, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name }).waitFor();

/** After a form that another text replaces, so that a screen reader reads on there. */
const headingWithFocus = ({ page }: BrowserUser, name: string) =>
  page.locator('h1:focus').filter({ hasText: name }).waitFor();

describeJourney('accounts', () => {
  beforeAll(async () => {
    gateway = await TestGateway.start({}, clock);
    jest.spyOn(gateway.app.get(Mailer, { strict: false }), 'send').mockImplementation(async (mail) => {
      mails.push(mail);
    });
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('refuses wrong passwords alike for known and unknown e-mails, then counts down until signing in works', async () => {
    const email = await newUser('Ada', null);
    const user = await BrowserUser.open(gateway);
    const { page } = user;
    await page.clock.install();
    await page.goto('/dashboard/login');
    user.expectFailure(/^POST .*\/login (401|429)$/);
    const message = page.getByRole('alert').getByText('The e-mail or the password is wrong.');
    await fillSignIn(user, newEmail(), 'wrong');
    await message.waitFor();
    for (let attempt = 1; attempt <= 10; attempt++) {
      const reply = page.waitForResponse(/\/login$/);
      await fillSignIn(user, email, 'wrong');
      expect((await reply).status()).toBe(401);
    }
    await message.waitFor();
    await fillSignIn(user, email);
    await page.getByText(/Try again in \d+ min \d+ s\./).waitFor();
    await user.picture('login-429');
    clock.aheadMs += 16 * 60_000;
    await page.clock.runFor(16 * 60_000);
    await page.getByText('You can try again now.').waitFor();
    await fillSignIn(user, email);
    await heading(user, 'New organization');
    await user.close();
  });

  it('registers with the link of a mail, once, and makes an organization with the user as owner', async () => {
    const email = newEmail();
    const user = await BrowserUser.open(gateway);
    const { page } = user;
    await page.goto('/dashboard/login');
    await page.getByRole('link', { name: 'Create an account' }).click();
    await heading(user, 'Register');
    user.expectFailure(/^POST .*\/register 400$/);
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill('password');
    await page.getByLabel('Organization (optional)').fill('Analytical Engines');
    await user.picture('register');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByText('password is too common.').waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create account' }).click();
    await heading(user, 'Check your mail');
    await page.getByText('Mails are not sent here').waitFor();
    await user.picture('registered');

    const link = await linkTo(email);
    await page.goto(link);
    await heading(user, 'Confirm your e-mail address');
    expect(page.url()).toBe(`${gateway.url}/dashboard/verify-email`);
    // Programs that check mails open links too: nothing happens without a click.
    expect(
      await gateway.rows('SELECT 1 FROM user_account WHERE email = $1 AND email_verified_at IS NULL', [email]),
    ).toHaveLength(1);
    await user.picture('verify');
    await page.getByRole('button', { name: 'Confirm my address' }).click();
    await headingWithFocus(user, 'Address confirmed');
    await page.getByRole('link', { name: 'Sign in' }).click();
    await heading(user, 'Sign in');
    expect(await page.getByLabel('E-mail').inputValue()).toBe(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await heading(user, 'Overview');
    await page.getByRole('button', { name: 'Organization: Analytical Engines' }).waitFor();

    user.expectFailure(/^POST .*\/confirm 404$/);
    await page.goto(link);
    await page.getByRole('button', { name: 'Confirm my address' }).click();
    await heading(user, 'This link no longer works');
    await user.picture('verify-over');
    await user.close();
  });

  it('takes the code of the mail instead of its link', async () => {
    const email = newEmail();
    const user = await BrowserUser.open(gateway);
    const { page } = user;
    await page.goto('/dashboard/register');
    await page.getByLabel('Your name').fill('Grace');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('button', { name: 'Send the mail again' }).click();
    await page.getByText('We have sent another mail.').waitFor();
    const code = tokenOf(await linkTo(email));
    await page.getByRole('link', { name: 'enter its code' }).click();
    await page.getByLabel('Code').fill(` ${code} `);
    await page.getByRole('button', { name: 'Confirm my address' }).click();
    await heading(user, 'Address confirmed');
    await user.close();
  });

  it('sets a forgotten password, after which the other browser must sign in at its next step', async () => {
    const { organizationId } = await gateway.dashboardUser();
    const email = await newUser('Ada', { organizationId, role: 'owner' });
    const other = await BrowserUser.open(gateway);
    await signIn(other, email);
    other.expectFailure(/ 401$/);
    const user = await BrowserUser.open(gateway);
    const { page } = user;
    await page.goto('/dashboard/login');
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    // The page before has a field of this name too.
    await heading(user, 'Forgotten password');
    await page.getByLabel('E-mail').fill(email);
    await page.getByRole('button', { name: 'Send the mail' }).click();
    await headingWithFocus(user, 'Check your mail');
    const link = await linkTo(email);
    await page.goto(link);
    await heading(user, 'Set a new password');
    expect(page.url()).toBe(`${gateway.url}/dashboard/reset-password`);
    await user.picture('reset');
    await page.getByLabel('New password').fill('another password of this test');
    await page.getByRole('button', { name: 'Set password' }).click();
    await headingWithFocus(user, 'Password set');
    await signIn(user, email, 'another password of this test');

    await other.page.reload();
    await heading(other, 'Sign in');

    user.expectFailure(/^POST .*\/confirm 404$/);
    await page.goto(link);
    await page.getByLabel('New password').fill('a third password of this test');
    await page.getByRole('button', { name: 'Set password' }).click();
    await heading(user, 'This link no longer works');
    await user.close();
    await other.close();
  });

  it('makes known and new users members with the role of their invitation, and others see whom it is for', async () => {
    const owner = await gateway.dashboardUser();
    await gateway.rows("UPDATE organization SET name = 'Analytical Engines' WHERE id = $1", [owner.organizationId]);
    const invite = async (email: string, role: Role): Promise<string> => {
      await owner.call(owner.path('/invitations'), { body: { email, role } });
      return linkTo(email);
    };
    const [known, unknown, outsider] = [await newUser('Grace'), newEmail(), await newUser('Mallory')];

    const user = await BrowserUser.open(gateway);
    const { page } = user;
    await signIn(user, outsider);
    await page.goto(await invite(known, 'developer'));
    await page.getByText('This invitation is not for you').waitFor();
    await user.picture('invitation-other');
    await page.getByRole('button', { name: 'Sign out and use another account' }).click();
    await page.getByRole('link', { name: 'Sign in' }).click();
    expect(page.url()).not.toContain('token');
    await fillSignIn(user, known);
    await heading(user, 'Join Analytical Engines');
    await page.getByText('as developer').waitFor();
    await user.picture('invitation');
    await page.getByRole('button', { name: 'Accept invitation' }).click();
    await heading(user, 'Overview');
    await page.getByRole('button', { name: 'Organization: Analytical Engines' }).waitFor();
    await user.close();

    const newcomer = await BrowserUser.open(gateway);
    await newcomer.page.goto(await invite(unknown, 'viewer'));
    await newcomer.page.getByRole('link', { name: 'Create an account' }).click();
    expect(await newcomer.page.getByLabel('E-mail').inputValue()).toBe(unknown);
    await newcomer.page.getByLabel('Your name').fill('Alan');
    await newcomer.page.getByLabel('Password').fill(PASSWORD);
    await newcomer.page.getByRole('button', { name: 'Create account' }).click();
    await headingWithFocus(newcomer, 'Account created');
    await gateway.app.get(FollowUpWork, { strict: false }).flush();
    await newcomer.page.getByRole('link', { name: 'Sign in' }).click();
    await newcomer.page.getByLabel('Password').fill(PASSWORD);
    await newcomer.page.getByRole('button', { name: 'Sign in' }).click();
    await heading(newcomer, 'Overview');
    const roles = await gateway.rows<{ email: string; role: Role }>(
      'SELECT email, role FROM organization_member JOIN user_account ON id = user_id WHERE organization_id = $1',
      [owner.organizationId],
    );
    expect(Object.fromEntries(roles.map(({ email, role }) => [email, role]))).toEqual({
      [owner.email]: 'owner',
      [known]: 'developer',
      [unknown]: 'viewer',
    });

    const other = await gateway.dashboardUser();
    const { json } = await other.call(other.path('/invitations'), { body: { email: unknown, role: 'viewer' } });
    const link = await linkTo(unknown);
    await newcomer.page.goto(link);
    await heading(newcomer, 'Join test');
    await other.call(other.path(`/invitations/${json.id}`), { method: 'DELETE' });
    newcomer.expectFailure(/^POST .*\/(?:accept|preview) 404$/);
    await newcomer.page.getByRole('button', { name: 'Accept invitation' }).click();
    await heading(newcomer, 'This invitation no longer works');
    expect(await newcomer.page.getByRole('heading', { level: 1 }).count()).toBe(1);
    await newcomer.page.goto(link);
    await heading(newcomer, 'This invitation no longer works');
    await newcomer.picture('invitation-over');
    await newcomer.close();
  });

  it('changes name, password and preferences, and ends other sessions', async () => {
    const { organizationId } = await gateway.dashboardUser();
    const email = await newUser('Ada', { organizationId, role: 'viewer' });
    const other = await BrowserUser.open(gateway);
    await signIn(other, email);
    other.expectFailure(/ 401$/);
    const user = await BrowserUser.open(gateway);
    await signIn(user, email);
    const { page } = user;
    await page.goto('/dashboard/account');
    const sessions = page.getByRole('region', { name: 'Sessions' });
    await sessions.getByText('This session').waitFor();
    await user.picture('account');
    await page.getByLabel('Your name').fill('Ada King');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByText('Name saved').waitFor();

    user.expectFailure(/^POST .*\/me\/password 401$/);
    await page.getByLabel('Current password').fill('wrong');
    await page.getByLabel('New password').fill('another password of this test');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('The current password is wrong.').waitFor();
    await sessions.getByRole('button', { name: /^End/ }).click();
    await page.getByText('Session ended').waitFor();
    await other.page.reload();
    await heading(other, 'Sign in');
    await page.getByLabel('Current password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Password changed').waitFor();
    expect(await page.getByLabel('Current password').inputValue()).toBe('');

    await page.getByLabel('Dark').check();
    await page.getByLabel('UTC', { exact: true }).check();
    await page.getByLabel('Dense tables').check();
    await page.reload();
    await page.locator('html[data-theme="dark"]').waitFor();
    expect(await page.getByLabel('UTC', { exact: true }).isChecked()).toBe(true);
    expect(await page.getByLabel('Dense tables').isChecked()).toBe(true);
    await user.close();
    await other.close();
  });

  it('signs in again over a filled form, keeps its values, and makes one change', async () => {
    const { organizationId } = await gateway.dashboardUser();
    const email = await newUser('Ada', { organizationId, role: 'owner' });
    const user = await BrowserUser.open(gateway);
    await signIn(user, email);
    const { page } = user;
    await page.getByRole('link', { name: 'API keys', exact: true }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    const form = page.getByRole('dialog', { name: 'Create an API key' });
    await form.getByLabel('Name', { exact: true }).fill('typed before the session ended');
    user.expectFailure(/ 401$/);
    await gateway.rows('DELETE FROM user_session');
    await form.getByRole('button', { name: 'Create key' }).click();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.waitFor();
    await goBackInPage(page);
    await again.getByLabel('Password').fill(PASSWORD);
    await user.picture('sign-in-again');
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.waitFor({ state: 'detached' });
    expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('typed before the session ended');
    const count = 'SELECT 1 FROM api_key WHERE organization_id = $1';
    expect(await gateway.rows(count, [organizationId])).toHaveLength(0);
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('dialog', { name: 'Your new API key' }).waitFor();
    expect(await gateway.rows(count, [organizationId])).toHaveLength(1);
    await user.close();
  });

  it('shows nothing of the first user when another one signs in over the page', async () => {
    const first = await gateway.dashboardUser();
    const second = await gateway.dashboardUser();
    await gateway.rows("UPDATE organization SET name = 'The first' WHERE id = $1", [first.organizationId]);
    await gateway.rows("UPDATE organization SET name = 'The second' WHERE id = $1", [second.organizationId]);
    const email = await newUser('Ada', { organizationId: first.organizationId, role: 'owner' });
    const other = await newUser('Grace', { organizationId: second.organizationId, role: 'owner' });
    const user = await BrowserUser.open(gateway);
    await signIn(user, email);
    const { page } = user;
    await page.goto(`/dashboard/o/${first.organizationId}/members`);
    await page.getByText(first.email, { exact: true }).waitFor();
    user.expectFailure(/ 401$/);
    await gateway.rows('DELETE FROM user_session');
    // A poll may have noticed before, and its dialog covers the link.
    await page.getByRole('link', { name: 'API keys' }).dispatchEvent('click');
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await fillSignIn(user, other);
    await page.getByRole('button', { name: 'Organization: The second' }).waitFor();
    const kept = '[document.documentElement.outerHTML, JSON.stringify([sessionStorage, localStorage])].join()';
    const seen = String(await page.evaluate(kept));
    for (const text of ['The first', first.organizationId, first.email, email]) expect(seen).not.toContain(text);
    await user.close();
  });

  it('shows nothing after signing out, neither with Back nor in the other tab', async () => {
    const { organizationId, email: colleague } = await gateway.dashboardUser();
    const email = await newUser('Ada', { organizationId, role: 'owner' });
    const user = await BrowserUser.open(gateway);
    await signIn(user, email);
    const { page } = user;
    const tab = await user.context.newPage();
    tab.on('dialog', (dialog) => void dialog.dismiss());
    await tab.goto(`/dashboard/o/${organizationId}/keys`);
    await tab.getByRole('button', { name: 'Create key' }).first().click();
    await tab.getByLabel('Name', { exact: true }).fill('seen once');
    await tab.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await tab.locator('[data-secret]').waitFor();
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByText(colleague, { exact: true }).waitFor();
    await page.getByRole('button', { name: /^Account:/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await heading(user, 'Sign in');
    await tab.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    user.expectFailure(/ 401$/);
    await page.goBack();
    await heading(user, 'Sign in');
    expect(await page.getByText(colleague).count()).toBe(0);
    await user.close();
  });
});
