import { Webhook } from 'standardwebhooks';
import { JobGateway } from '../e2e/create-video/job-gateway';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { Role } from '../../src/core/types/role';
import { pictures } from '../harness/pictures';
import { PublicHost } from '../harness/public-host';
import { goBackInPage, reloadIsAsked } from './leaving';

describeJourney('webhooks', () => {
  let served: JobGateway;
  let host: PublicHost;

  beforeAll(async () => {
    host = await PublicHost.start();
    served = await JobGateway.start({ WORKER: 'inline', OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32' });
  });
  beforeEach(() => answerWith(204));
  afterAll(async () => {
    await closeBrowser();
    await served.stop();
    await host.stop();
  });

  function answerWith(status: number): void {
    host.answer = (response) => response.writeHead(status).end();
  }

  /** A member of a new organization, on its webhooks. */
  async function visit(role: Role, search = ''): Promise<BrowserUser> {
    const member = await served.gateway.dashboardUser({ role });
    const user = await BrowserUser.signedIn(served.gateway, member);
    await user.page.goto(`/dashboard/o/${member.organizationId}/webhooks${search}`);
    await user.page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
    return user;
  }

  async function sendTest({ page }: BrowserUser): Promise<void> {
    await page.getByRole('button', { name: 'Send a test' }).first().click();
    await page.getByLabel('Receiver URL').fill(host.url('/hook'));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Webhook delivery' }).waitFor();
  }

  const state = ({ page }: BrowserUser, name: string) =>
    page.getByRole('heading', { level: 1 }).getByText(name, { exact: true });

  it('show the secret once, explain a second try, and sign a test event with it', async () => {
    const user = await visit('admin', '?tab=signing');
    const { page } = user;
    const other = await user.context.newPage();
    await other.goto(page.url());
    await other.getByRole('button', { name: 'Reveal once' }).waitFor();
    await page.getByRole('button', { name: 'Reveal once' }).click();
    const dialog = page.getByRole('dialog', { name: 'Webhook secret' });
    const secret = await dialog.locator('[data-secret]').innerText();
    expect(secret).toMatch(/^whsec_/);
    await dialog.getByRole('button', { name: 'Copy webhook secret' }).click();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(secret);
    // Escape does not close what cannot be shown again.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Done' }).click();
    expect(await page.content()).not.toContain(secret);
    expect(await page.getByRole('button', { name: 'Reveal once' }).count()).toBe(0);
    await pictures(user, 'webhook-signing');

    user.expectFailure(/^POST .*\/webhook-secret\/reveal 409$/);
    await other.getByRole('button', { name: 'Reveal once' }).click();
    await other.getByRole('alert').getByText('rotate').waitFor();
    await other.close();

    await sendTest(user);
    await state(user, 'delivered').waitFor();
    const [hook] = host.seen.slice(-1);
    const event = new Webhook(secret).verify(hook?.body ?? '', hook?.headers as Record<string, string>);
    expect(event).toMatchObject({ event: 'webhook.test', test: true });
    await page.getByRole('region', { name: 'Attempts' }).getByText('204').waitFor();
    await pictures(user, 'webhook-delivered');

    await page.getByRole('link', { name: 'Webhooks', exact: true }).first().click();
    await page.getByRole('link', { name: 'Signing secret' }).click();
    await page.getByRole('button', { name: 'Rotate' }).click();
    const confirm = page.getByRole('dialog', { name: 'Rotate the webhook secret?' });
    expect(await confirm.locator('button:focus').innerText()).toBe('Cancel');
    await confirm.getByRole('button', { name: 'Rotate' }).click();
    const next = await dialog.locator('[data-secret]').innerText();
    expect(next).not.toBe(secret);
    await goBackInPage(page);
    expect(await reloadIsAsked(page)).toBe(true);
    expect(await dialog.locator('[data-secret]').innerText()).toBe(next);
    await user.close();
  });

  it('show the attempts of a failing receiver, send again on request, and stop at 410', async () => {
    const user = await visit('developer');
    const { page } = user;
    await pictures(user, 'webhooks-empty');
    answerWith(500);
    await sendTest(user);
    const attempts = page.getByRole('region', { name: 'Attempts' });
    await attempts.getByText('500').first().waitFor();
    await page.getByText('Next attempt', { exact: true }).waitFor();
    await pictures(user, 'webhook-failing');
    answerWith(204);
    await page.getByRole('button', { name: 'Send now' }).click();
    await state(user, 'delivered').waitFor();
    expect(await attempts.getByText('failed').count()).toBeGreaterThan(0);

    answerWith(410);
    await page.getByRole('button', { name: 'Resend' }).click();
    await state(user, 'gone').waitFor();
    await page.getByText('The receiver responded with 410').waitFor();

    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByLabel('State').selectOption('delivered');
    await page.getByText('No delivery matches these filters').waitFor();
    await page.waitForURL('**/webhooks?state=delivered');
    await page.reload();
    await page.getByLabel('State').selectOption('gone');
    await page.getByRole('link', { name: 'webhook.test' }).waitFor();
    await pictures(user, 'webhooks');
    await user.close();
  });

  it('refuse a receiver on a private network at its field', async () => {
    const user = await visit('developer');
    const { page } = user;
    user.expectFailure(/^POST .*\/webhook-test-events 400$/);
    await page.getByRole('button', { name: 'Send a test' }).first().click();
    const url = page.getByLabel('Receiver URL');
    await url.fill('https://192.168.1.1/hook');
    await page.keyboard.press('Enter');
    await page.locator('[aria-invalid=true]').waitFor();
    expect(await url.getAttribute('aria-invalid')).toBe('true');
    await user.close();
  });

  it('let viewers read, and say which role sending needs', async () => {
    const user = await visit('viewer');
    const { page } = user;
    const send = page.getByRole('button', { name: 'Send a test (needs developer)' });
    expect(await send.isDisabled()).toBe(true);
    await page.getByRole('link', { name: 'Signing secret' }).click();
    await page.getByText('Owners and admins').waitFor();
    expect(await page.getByRole('button', { name: 'Reveal once' }).count()).toBe(0);
    await user.close();
  });
});
