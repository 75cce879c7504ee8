import { randomUUID } from 'node:crypto';
import { LedgerService } from '../../src/billing/ledger/ledger.service';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { TestGateway } from '../harness/gateway';

const CREDIT_MICRO = 10_000_000n;

describeJourney('the button of the chat that sends and stops', () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await TestGateway.start();
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  async function openChat(): Promise<BrowserUser> {
    const developer = await gateway.dashboardUser({ role: 'developer' });
    const ledger = gateway.app.get(LedgerService, { strict: false });
    await ledger.topUp(developer.organizationId, CREDIT_MICRO, randomUUID());
    const user = await BrowserUser.signedIn(gateway, developer);
    await user.page.goto(`/dashboard/o/${developer.organizationId}/playground/chat`);
    return user;
  }

  it('does not stop the answer on a double click that sends, and sends no draft on one that stops', async () => {
    const user = await openChat();
    const { page } = user;
    const message = page.getByLabel('Message', { exact: true });
    const spoken = page.locator('main [aria-live=polite]');
    // The first request waits for the key of the playground.
    await message.fill('First [[mock: tokens=5 delay=0ms]]');
    await message.press('Enter');
    await spoken.getByText(/^Answer complete: /).waitFor();
    await message.fill('A story [[mock: tokens=20 delay=20ms]]');
    await page.getByRole('button', { name: 'Send' }).dblclick();
    await page.getByRole('article').nth(1).getByRole('link', { name: 'Receipt' }).waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    expect(await page.getByText('stopped', { exact: true }).count()).toBe(0);

    // Where "Stop" was is "Send" for the second click.
    await message.fill('A long story [[mock: tokens=2000 delay=50ms]]');
    await message.press('Enter');
    await message.fill('A draft');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Send' }).hover();
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    expect(await message.inputValue()).toBe('A draft');
    expect(await page.getByRole('article').count()).toBe(3);
    await user.close();
  });

  it('keeps the focus when the answer is complete', async () => {
    const user = await openChat();
    const { page } = user;
    await page.getByLabel('Message', { exact: true }).fill('A story [[mock: tokens=5 delay=20ms]]');
    await page.getByRole('button', { name: 'Send' }).press('Enter');
    await page
      .locator('main [aria-live=polite]')
      .getByText(/^Answer complete: /)
      .waitFor();
    const send = page.getByRole('button', { name: 'Send' });
    expect(await send.isDisabled()).toBe(true);
    expect(await send.and(page.locator(':focus')).count()).toBe(1);
    await user.close();
  });
});
