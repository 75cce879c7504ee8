import type { Locator, Page } from 'playwright-core';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { DashboardClient } from '../harness/dashboard-client';
import { TestGateway } from '../harness/gateway';

/** Typed key by key, because `fill` sets the whole text at once and hides what happens between two keys. */
describeJourney('fields whose value is in the address', () => {
  let gateway: TestGateway;
  let owner: DashboardClient;
  let user: BrowserUser;
  let page: Page;

  beforeAll(async () => {
    gateway = await TestGateway.start();
    owner = await gateway.dashboardUser({ role: 'owner' });
    for (const name of ['production', 'preproduction']) await owner.call(owner.path('/keys'), { body: { name } });
  });
  beforeEach(async () => {
    user = await BrowserUser.signedIn(gateway, owner);
    page = user.page;
  });
  afterEach(() => user.close());
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  const open = async (path: string, heading: string): Promise<void> => {
    await page.goto(`/dashboard/o/${owner.organizationId}${path}`);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  };
  const isInAddress = (name: string, value: string | null): Promise<void> =>
    page.waitForURL((url) => url.searchParams.get(name) === value);
  const hasFocus = (field: Locator): Promise<boolean> =>
    field.evaluate((element) => element === document.activeElement);

  it('take a day that is typed, and apply it when its year is complete', async () => {
    await open('/billing?tab=ledger', 'Billing');
    const from = page.getByLabel('From (UTC)');
    await from.focus();
    for (const key of '11202024') await page.keyboard.press(key);
    await isInAddress('from', '2024-11-20');
    expect(await from.inputValue()).toBe('2024-11-20');
    await from.press('Tab');
    await page.goBack();
    await isInAddress('from', null);
    expect(await from.inputValue()).toBe('');
  });

  it('take another day over the one that is shown', async () => {
    await open('/usage?from=2026-01-09&to=2026-03-09', 'Usage');
    const to = page.getByLabel('To (UTC)');
    await to.focus();
    // The address follows each key that makes another day.
    for (const [key, day] of [
      ['1', '2026-01-09'],
      ['2', '2026-12-09'],
      ['1', '2026-12-01'],
      ['1', '2026-12-11'],
    ] as const) {
      await page.keyboard.press(key);
      await isInAddress('to', day);
    }
    for (const key of '2027') await page.keyboard.press(key);
    await isInAddress('to', '2027-12-11');
    expect(await to.inputValue()).toBe('2027-12-11');
  });

  it('keep the focus when a filter applies, so that what is typed next is no shortcut', async () => {
    await open('/requests?model=mock/chat-1', 'Requests');
    const model = page.getByLabel('Model', { exact: true });
    await model.press('ControlOrMeta+A');
    await model.press('Delete');
    await isInAddress('model', null);
    await page.keyboard.type('gk');
    expect(await model.inputValue()).toBe('gk');
    await page.keyboard.press('Enter');
    await isInAddress('model', 'gk');
    expect(await hasFocus(model)).toBe(true);
    const cost = page.getByLabel('Cost from ($)');
    await cost.focus();
    await page.keyboard.type('1.5');
    await page.keyboard.press('Enter');
    await isInAddress('min_cost_micro', '1500000');
    expect(await hasFocus(cost)).toBe(true);
    await page.getByRole('button', { name: 'Clear all filters' }).first().click();
    await isInAddress('model', null);
    expect([await model.inputValue(), await cost.inputValue()]).toEqual(['', '']);
  });

  it('take a moment that is typed, whose year has four digits', async () => {
    await open('/requests?from=2026-01-01T00:00:00Z', 'Requests');
    const from = page.getByLabel('From (UTC)');
    await from.focus();
    for (const key of '112020261030AM') await page.keyboard.press(key);
    expect(await from.inputValue()).toBe('2026-11-20T10:30');
    await page.getByRole('heading', { level: 1 }).click();
    await isInAddress('from', '2026-11-20T10:30:00.000Z');
  });

  it.each([
    ['before the first of the API', [...'112019991030AM']],
    ['that is incomplete', ['Backspace']],
  ])('take no moment %s, and show the one in force', async (_, keys) => {
    await open('/requests?from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z', 'Requests');
    const before = page.getByLabel('Before (UTC)');
    await before.focus();
    for (const key of keys) await page.keyboard.press(key);
    await page.getByRole('heading', { level: 1 }).click();
    expect(await before.inputValue()).toBe('2026-02-01T00:00');
    await isInAddress('to', '2026-02-01T00:00:00Z');
  });

  it.each([
    ['/keys', 'API keys', 'Search keys', 'production'],
    ['/models', 'Models', 'Search models', 'chat'],
  ])('keep the cursor where text is inserted into the search of %s', async (path, heading, label, word) => {
    await open(path, heading);
    const search = page.getByRole('searchbox', { name: label });
    await search.focus();
    await page.keyboard.type(word);
    await isInAddress('q', word);
    await page.keyboard.press('Home');
    for (const key of 'pre') await page.keyboard.press(key);
    await isInAddress('q', `pre${word}`);
    expect(await search.inputValue()).toBe(`pre${word}`);
  });
});
