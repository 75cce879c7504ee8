import type { Locator } from 'playwright-core';
import { SessionService } from '../../src/dashboard/accounts/session.service';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { findFreePort } from '../harness/child-process';
import { TestGateway } from '../harness/gateway';
import { goBackInPage, reloadIsAsked } from './leaving';

describeJourney('forms', () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    // Payment pages link back to the dashboard, so its port must be known before it starts.
    gateway = await TestGateway.start({ PORT: String(await findFreePort()), PAYMENT_PROVIDER: 'test' });
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('unfold the part with a wrong field and give it the focus, whether the browser or the API finds the mistake', async () => {
    const owner = await gateway.dashboardUser({ role: 'owner' });
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    await page.goto(`/dashboard/o/${owner.organizationId}/keys`);
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Create an API key' });
    const fold = dialog.getByText('Budgets, limits and restrictions');
    const limit = dialog.getByLabel('Requests per second');
    const addresses = dialog.getByLabel('IP addresses');
    const focused = (field: Locator): Promise<void> => field.and(page.locator(':focus')).waitFor();

    await fold.click();
    await limit.fill('0');
    await fold.click();
    await limit.waitFor({ state: 'hidden' });
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await focused(limit);

    await limit.fill('5');
    await addresses.fill('nowhere');
    await fold.click();
    await limit.waitFor({ state: 'hidden' });
    user.expectFailure(/^POST .*\/keys 400$/);
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await focused(addresses);
    await dialog.getByText('allowed_ips[0] must be an IP address or CIDR range.').waitFor();
    await user.close();
  });

  it('that issue a key stay open until its secret is there, which comes only once', async () => {
    const owner = await gateway.dashboardUser({ role: 'owner' });
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    let release: () => void = () => undefined;
    await page.route(/\/keys(?:\/[\w-]+\/rotate)?$/, async (route) => {
      if (route.request().method() === 'POST') await new Promise<void>((resolve) => (release = resolve));
      await route.continue();
    });
    const expectSecret = async (title: string, submit: string): Promise<void> => {
      const form = page.getByRole('dialog', { name: title });
      const asked = page.waitForRequest((request) => request.method() === 'POST');
      // The first request to close arrives before the page is drawn again.
      await form.getByRole('button', { name: submit }).evaluate(async (button: HTMLElement) => {
        button.click();
        await Promise.resolve();
        button.closest('dialog')?.dispatchEvent(new Event('cancel', { cancelable: true }));
      });
      await asked;
      for (const key of ['Escape', 'Escape', 'Escape']) await page.keyboard.press(key);
      expect(await form.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
      release();
      await page.locator('[data-secret]').waitFor();
      await page.getByRole('button', { name: 'I have copied the key' }).click();
    };
    await page.goto(`/dashboard/o/${owner.organizationId}/keys`);
    await page.getByRole('button', { name: 'Create key' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('slow');
    await expectSecret('Create an API key', 'Create key');
    await page.getByRole('link', { name: 'slow' }).click();
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    await expectSecret('Replace “slow”', 'Replace key');
    await user.close();
  });

  it('that show a new key stay open when the reader goes back, and ask before a reload until it is copied', async () => {
    const owner = await gateway.dashboardUser({ role: 'owner' });
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    await page.goto(`/dashboard/o/${owner.organizationId}/members`);
    await page.getByRole('link', { name: 'API keys', exact: true }).click();
    await page.getByRole('button', { name: 'Create key' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('seen once');
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    await page.locator('[data-secret]').waitFor();
    await goBackInPage(page);
    expect(await reloadIsAsked(page)).toBe(true);
    expect(await page.locator('[data-secret]').count()).toBe(1);
    await page.getByRole('button', { name: 'Copy API key' }).click();
    await page.getByText('Copied', { exact: true }).waitFor();
    expect(await reloadIsAsked(page)).toBe(false);
    await page.getByRole('link', { name: 'seen once' }).click();
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    await page.getByRole('button', { name: 'Replace key' }).click();
    await page.locator('[data-secret]').waitFor();
    await goBackInPage(page);
    expect(await page.locator('[data-secret]').count()).toBe(1);
    await page.getByRole('button', { name: 'I have copied the key' }).click();
    await page.getByRole('heading', { level: 1, name: 'seen once' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'seen once' }).waitFor();
    await user.close();
  });

  it('take the second click of a double click for the row of the first, not for the one that moved up', async () => {
    const owner = await gateway.dashboardUser();
    const sessions = gateway.app.get(SessionService, { strict: false });
    for (const userAgent of ['one', 'two', 'three']) {
      await sessions.create(owner.userId, { address: '127.0.0.1', userAgent });
    }
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    const ended: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'DELETE') ended.push(request.url());
    });
    await page.goto('/dashboard/account');
    const buttons = page.getByRole('button', { name: /^End session/ });
    await buttons.nth(2).waitFor();
    await buttons.first().scrollIntoViewIfNeeded();
    const { x, y, width, height } = (await buttons.first().boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.click(x + width / 2, y + height / 2);
    await buttons.nth(2).waitFor({ state: 'detached' });
    await page.locator('[aria-busy]').waitFor({ state: 'detached' });
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await page.reload();
    await buttons.first().waitFor();
    expect(ended).toHaveLength(1);
    await user.close();
  });

  it('say that a change failed after they were closed', async () => {
    const owner = await gateway.dashboardUser({ role: 'owner' });
    const key = await owner.call(owner.path('/keys'), { body: { name: 'leaked' } });
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    let answer: () => void = () => undefined;
    await page.route(/\/revoke$/, async (route) => {
      await new Promise<void>((resolve) => (answer = resolve));
      const error = { code: 'service_unavailable', message: 'The service is busy.' };
      await route.fulfill({ status: 503, json: { error } });
    });
    user.expectFailure(/^POST .*\/revoke 503$/);
    await page.goto(`/dashboard/o/${owner.organizationId}/keys/${key.json.api_key.id}`);
    await page.getByRole('button', { name: 'Revoke' }).click();
    const asked = page.waitForRequest(/\/revoke$/);
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await asked;
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    answer();
    await page.locator('output').getByText('A change failed: The service is busy.').waitFor();
    await user.close();
  });

  it('do not hide what is said meanwhile', async () => {
    const owner = await gateway.dashboardUser({ role: 'owner' });
    const key = await owner.call(owner.path('/keys'), { body: { name: 'leaked' } });
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    await page.goto(`/dashboard/o/${owner.organizationId}/keys/${key.json.api_key.id}`);
    await page.getByRole('button', { name: 'Revoke' }).click();
    let answer: () => void = () => undefined;
    await page.route(/\/revoke$/, async (route) => {
      await new Promise<void>((resolve) => (answer = resolve));
      await route.fulfill({ status: 503, json: { error: { code: 'service_unavailable', message: 'Busy.' } } });
    });
    user.expectFailure(/^POST .*\/revoke 503$/);
    const asked = page.waitForRequest(/\/revoke$/);
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await asked;
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    const form = page.getByRole('dialog', { name: 'Replace “leaked”' });
    await form.waitFor();
    answer();
    const notice = page.getByText('A change failed: Busy.');
    await notice.waitFor();
    const isOnTop = (): Promise<boolean> =>
      notice.evaluate((element: HTMLElement) => {
        // It takes no clicks, and a point is never of an element that takes none.
        element.style.pointerEvents = 'auto';
        const { left, top, width, height } = element.getBoundingClientRect();
        return document.elementFromPoint(left + width / 2, top + height / 2) === element;
      });
    expect(await isOnTop()).toBe(true);
    // What is outside of a modal is not announced.
    expect(await form.getByText('A change failed: Busy.').count()).toBe(1);
    await form.getByRole('button', { name: 'Cancel' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await isOnTop()).toBe(true);
    await user.close();
  });

  it('that order credit offer no way back that the payment page would undo', async () => {
    const owner = await gateway.dashboardUser({ role: 'owner' });
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    let release: () => void = () => undefined;
    await page.route(/\/purchases$/, async (route) => {
      if (route.request().method() === 'POST') await new Promise<void>((resolve) => (release = resolve));
      await route.continue();
    });
    await page.goto(`/dashboard/o/${owner.organizationId}/billing`);
    await page.getByRole('button', { name: 'Buy credit' }).click();
    const form = page.getByRole('dialog', { name: 'Buy credit' });
    const asked = page.waitForRequest((request) => request.method() === 'POST');
    await form.getByRole('button', { name: 'Continue to payment' }).click();
    await asked;
    for (const key of ['Escape', 'Escape']) await page.keyboard.press(key);
    expect(await form.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
    release();
    await page.getByRole('heading', { name: 'Test payment' }).waitFor();
    await user.close();
  });
});
