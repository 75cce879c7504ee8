import { randomUUID } from 'node:crypto';
import { LedgerService } from '../../src/billing/ledger/ledger.service';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { TestGateway } from '../harness/gateway';

const CREDIT_MICRO = 10_000_000n;

describeJourney('the end of an answer of the playground, read out', () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await TestGateway.start();
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('is never that of a complete answer when the request failed', async () => {
    const developer = await gateway.dashboardUser({ role: 'developer' });
    const ledger = gateway.app.get(LedgerService, { strict: false });
    await ledger.topUp(developer.organizationId, CREDIT_MICRO, randomUUID());
    const user = await BrowserUser.signedIn(gateway, developer);
    const { page } = user;
    await page.route('**/v1/chat/completions', (route) => route.abort('connectionreset'));
    await page.goto(`/dashboard/o/${developer.organizationId}/playground/chat`);
    const message = page.getByLabel('Message', { exact: true });
    const spoken = page.locator('main [aria-live=polite]');
    await page.evaluate(() => {
      const texts: string[] = [];
      Object.assign(window, { texts });
      new MutationObserver(() =>
        texts.push(document.querySelector('main [aria-live=polite]')?.textContent ?? ''),
      ).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await message.fill('Lost on the way');
    await message.press('Enter');
    await page.getByRole('alert').getByText('The service could not be reached.').waitFor();
    await page.getByRole('button', { name: 'Ask again' }).waitFor();
    await page.unroute('**/v1/chat/completions');
    await message.fill('Arrives [[mock: tokens=5 delay=0ms]]');
    await message.press('Enter');
    await spoken.getByText(/^Answer complete: \$0\.\d+$/).waitFor();
    const ends = await page.evaluate(() => (window as unknown as { texts: string[] }).texts);
    expect(ends.filter((text) => text.includes('unknown cost'))).toEqual([]);
    await user.close();
  });
});
