import { LedgerService } from '../../src/billing/ledger/ledger.service';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { DashboardClient } from '../harness/dashboard-client';
import { TestGateway } from '../harness/gateway';

let gateway: TestGateway;

/** An owner of an organization with credit. */
async function newOwner(): Promise<DashboardClient> {
  const owner = await gateway.dashboardUser();
  await gateway.app.get(LedgerService, { strict: false }).topUp(owner.organizationId, 10_000_000n, 'initial');
  return owner;
}

async function openKeys(client: DashboardClient): Promise<BrowserUser> {
  const user = await BrowserUser.signedIn(gateway, client);
  await user.page.goto(`/dashboard/o/${client.organizationId}/keys`);
  await user.page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
  return user;
}

/** The status of a chat request with the key, and the code of its error. */
async function ask(key: string): Promise<string> {
  const body = { model: 'mock/chat-1', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] };
  const { status, json } = await gateway.call('/v1/chat/completions', { key, body });
  return status === 200 ? '200' : `${status} ${json.error.code}`;
}

/** Repeats the request until it gets the answer: processes learn of changes a moment later. */
async function expectAnswer(key: string, answer: string): Promise<void> {
  const end = performance.now() + 1000;
  let seen = await ask(key);
  while (seen !== answer && performance.now() < end) seen = await ask(key);
  expect(seen).toBe(answer);
}

/** Creates a key in the open page, closes its dialog, and returns the secret. */
async function createKey({ page }: BrowserUser, name: string): Promise<string> {
  await page.getByRole('button', { name: 'Create key' }).click();
  const form = page.getByRole('dialog', { name: 'Create an API key' });
  await form.getByLabel('Name', { exact: true }).fill(name);
  await form.getByRole('button', { name: 'Create key' }).click();
  const shown = page.getByRole('dialog', { name: 'Your new API key' });
  const secret = await shown.locator('[data-secret]').innerText();
  await shown.getByRole('button', { name: 'I have copied the key' }).click();
  await shown.waitFor({ state: 'detached' });
  return secret;
}

async function open({ page }: BrowserUser, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
}

describeJourney('API keys', () => {
  beforeAll(async () => {
    gateway = await TestGateway.start();
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
  });

  it('are the first step of a newcomer, who reads that requests need credit and how to send the first one', async () => {
    const newcomer = await gateway.dashboardUser({ role: 'owner' });
    const user = await BrowserUser.signedIn(gateway, newcomer);
    const { page } = user;
    await page.goto(`/dashboard/o/${newcomer.organizationId}`);
    await page.getByText('No credit yet').waitFor();
    await page.getByRole('link', { name: 'Create a key' }).waitFor();
    await page.getByRole('link', { name: 'Requests', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
    expect(await page.getByLabel('curl command').innerText()).toContain(`${gateway.url}/v1/chat/completions`);
    await user.close();
  });

  it('creates one key on a double click, shows its secret once with a curl that works, and keeps it nowhere', async () => {
    const owner = await newOwner();
    const user = await openKeys(owner);
    const { page } = user;
    await page.getByText('No keys yet').waitFor();
    await user.picture('keys-empty');
    const palette = page.getByRole('combobox', { name: 'Search pages and objects' });
    await page.keyboard.press('Control+K');
    await palette.waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Create key' }).click();
    const form = page.getByRole('dialog', { name: 'Create an API key' });
    await form.getByLabel('Name', { exact: true }).fill('billing service');
    await user.picture('key-create');
    await form.getByRole('button', { name: 'Create key' }).dblclick();

    const shown = page.getByRole('dialog', { name: 'Your new API key' });
    const secret = await shown.locator('[data-secret]').innerText();
    expect(secret).toMatch(/^sk-llm-[0-9A-Za-z]{38}$/);
    expect(await gateway.rows('SELECT id FROM api_key')).toHaveLength(1);
    await shown.getByRole('button', { name: 'Copy API key' }).click();
    await shown.getByRole('button', { name: 'Copied', exact: true }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret);

    const curl = await shown.getByRole('region', { name: 'curl command' }).innerText();
    expect(curl).toContain(`curl ${gateway.url}/v1/chat/completions`);
    const body = /-d '(.*)'$/.exec(curl)?.[1] ?? '';
    expect((await gateway.call('/v1/chat/completions', { key: secret, body })).status).toBe(200);
    await shown.getByRole('button', { name: 'Send it from here' }).click();
    await shown.getByText('It works', { exact: true }).waitFor();
    await user.picture('key-created');

    // Escape does not close what cannot be shown again, and the palette leads nowhere else.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+K');
    await shown.getByRole('button', { name: 'I have copied the key' }).click();
    await page.getByRole('link', { name: 'billing service' }).waitFor();
    const places = [
      'document.documentElement.outerHTML',
      'JSON.stringify([localStorage, sessionStorage, history.state])',
      'location.href',
    ];
    for (const place of places) expect(String(await page.evaluate(place))).not.toContain(secret);
    await user.close();
  });

  it('limits, disables, enables, replaces and revokes a key, each effective at /v1 within a second', async () => {
    const owner = await newOwner();
    const user = await openKeys(owner);
    const { page } = user;
    const secret = await createKey(user, 'production');
    await expectAnswer(secret, '200');
    await open(user, 'production');

    await page.getByRole('button', { name: 'Settings' }).click();
    const settings = page.getByRole('dialog', { name: 'Settings of “production”' });
    await user.picture('key-settings');
    await settings.getByLabel('Per day (UTC)').fill('0.000001');
    await settings.getByLabel('IP addresses').fill('127.0.0.1\nnot an address');
    user.expectFailure(/^PATCH .*\/keys\/[^/]+ 400$/);
    await settings.getByRole('button', { name: 'Save' }).click();
    await settings.getByText('allowed_ips[1] must be an IP address or CIDR range.').waitFor();
    await settings.getByLabel('IP addresses').fill('127.0.0.1');
    await settings.getByRole('button', { name: 'Save' }).click();
    await settings.waitFor({ state: 'detached' });
    await page.getByText('of $0.000001').waitFor();
    await expectAnswer(secret, '402 budget_exceeded');
    await user.picture('key-page');
    await page.getByRole('button', { name: 'Settings' }).click();
    await settings.getByLabel('Per day (UTC)').fill('');
    await settings.getByRole('button', { name: 'Save' }).click();
    await settings.waitFor({ state: 'detached' });
    await expectAnswer(secret, '200');

    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('button', { name: 'Disable key' }).click();
    await page.getByText('This key is disabled').waitFor();
    await expectAnswer(secret, '401 key_disabled');
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('button', { name: 'Disable' }).waitFor();
    await expectAnswer(secret, '200');

    await page.getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('dialog').getByLabel('How long the old key keeps working').selectOption('1 hour');
    await page.getByRole('button', { name: 'Replace key' }).click();
    const shown = page.getByRole('dialog', { name: 'Your new API key' });
    const successor = await shown.locator('[data-secret]').innerText();
    await shown.getByRole('button', { name: 'I have copied the key' }).click();
    await expectAnswer(successor, '200');
    await expectAnswer(secret, '200');

    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByText('Replaced, ends in').waitFor();
    await page.getByRole('link', { name: 'production' }).last().click();
    await page.getByText('This key was replaced').waitFor();
    await page.getByRole('button', { name: 'Revoke' }).click();
    const dialog = page.getByRole('dialog', { name: 'Revoke “production”?' });
    await dialog.locator('button:focus').getByText('Cancel').waitFor();
    await user.picture('key-revoke');
    await dialog.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('This key is revoked').waitFor();
    // The button that had the focus is gone.
    await page.locator('h1:focus').waitFor();
    await expectAnswer(secret, '401 key_revoked');
    await expectAnswer(successor, '200');
    await page.getByRole('link', { name: 'Show the new key' }).click();
    await page.getByText('This key is revoked').waitFor({ state: 'detached' });
    await user.close();
  });

  it('replaces a key without a grace period, and still shows the new secret', async () => {
    const owner = await newOwner();
    const user = await openKeys(owner);
    const { page } = user;
    const secret = await createKey(user, 'leaked');
    await open(user, 'leaked');
    await page.getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('dialog').getByLabel('How long the old key keeps working').selectOption('0');
    await page.getByRole('button', { name: 'Replace key' }).click();
    const shown = page.getByRole('dialog', { name: 'Your new API key' });
    await page.getByText('This key is revoked').waitFor();
    const successor = await shown.locator('[data-secret]').innerText();
    await expectAnswer(secret, '401 key_revoked');
    await expectAnswer(successor, '200');
    await user.close();
  });

  it('refuses a key above the maximum of the organization next to the button', async () => {
    const owner = await newOwner();
    await gateway.rows('UPDATE organization SET max_api_keys = 1 WHERE id = $1', [owner.organizationId]);
    const user = await openKeys(owner);
    const { page } = user;
    await createKey(user, 'the only one');
    user.expectFailure(/^POST .*\/keys 409$/);
    await page.getByRole('button', { name: 'Create key' }).click();
    const form = page.getByRole('dialog', { name: 'Create an API key' });
    await form.getByRole('button', { name: 'Create key' }).click();
    await form.getByRole('alert').waitFor();
    expect(await form.getByRole('alert').innerText()).toMatch(/1 API key/);
    await user.picture('key-refused');
    await user.close();
  });

  it('searches and sorts live keys by the address, and lists revoked ones and those of the playground apart', async () => {
    const owner = await newOwner();
    for (const name of ['staging', 'production', 'a batch job']) {
      await owner.call(owner.path('/keys'), {
        body: { name, daily_budget_micro: 5_000_000, monthly_budget_micro: 50_000_000 },
      });
    }
    const revoked = await owner.call(owner.path('/keys'), { body: { name: 'old laptop' } });
    await owner.call(owner.path(`/keys/${revoked.json.api_key.id}/revoke`), { method: 'POST' });
    await gateway.rows("UPDATE api_key SET name = 'staging 2' WHERE name = 'staging'");

    const user = await openKeys(owner);
    const { page } = user;
    const names = (): Promise<string[]> => page.locator('[data-row-link]').allInnerTexts();
    await page.getByRole('link', { name: 'production' }).waitFor();
    expect(await names()).toEqual(['a batch job', 'production', 'staging 2']);
    const table = page.getByRole('region', { name: 'Live keys' });
    expect(await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    await user.picture('keys');
    await page.getByLabel('Order').selectOption('Name');
    await page.keyboard.press('/');
    await page.keyboard.type('st');
    await page.getByRole('link', { name: 'production' }).waitFor({ state: 'detached' });
    expect(await names()).toEqual(['staging 2']);
    await page.reload();
    await page.getByRole('link', { name: 'staging 2' }).waitFor();
    expect(await names()).toEqual(['staging 2']);
    await page.getByRole('link', { name: 'Revoked' }).click();
    await page.getByRole('link', { name: 'old laptop' }).waitFor();
    await user.picture('keys-revoked');
    await owner.call(owner.path('/playground-keys'), { method: 'POST' });
    await page.getByRole('navigation', { name: 'Kinds of keys' }).getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('link', { name: 'old laptop' }).waitFor({ state: 'detached' });
    await page.locator('[data-row-link]').click();
    await page.getByText('Playground key').waitFor();
    expect(await page.getByRole('button', { name: 'Settings' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Revoke' }).waitFor();
    await user.close();
  });

  it('reads live keys a hundred at a time, and the server searches and sorts all of them', async () => {
    const owner = await newOwner();
    await gateway.rows('UPDATE organization SET max_api_keys = 1000 WHERE id = $1', [owner.organizationId]);
    const { json: issued } = await owner.call(owner.path('/keys'), { body: { name: 'oldest' } });
    await gateway.rows(
      `INSERT INTO api_key (organization_id, name, digest, prefix, last4, created_at)
       SELECT $1::uuid, 'app ' || lpad(n::text, 3, '0'), sha256(convert_to($1::text || n, 'UTF8')), 'sk-llm-0000', '0000',
              now() + make_interval(secs => n)
         FROM generate_series(1, 249) n`,
      [owner.organizationId],
    );
    const user = await BrowserUser.signedIn(gateway, owner);
    const { page } = user;
    const reads: string[] = [];
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname.endsWith('/keys') && pathname.startsWith('/dashboard/api/')) reads.push(search);
    });
    await page.goto(`/dashboard/o/${owner.organizationId}/keys`);
    await page.getByText('More than 100 of 1,000 keys').waitFor();
    expect(reads).toHaveLength(1);
    const rows = page.getByRole('region', { name: 'Live keys' }).locator('tbody tr');
    const names = (): Promise<string[]> => page.locator('[data-row-link]').allInnerTexts();
    expect((await names())[0]).toBe('app 249');
    expect(await rows.count()).toBe(100);
    const more = page.getByRole('button', { name: 'Show more' });
    await more.click();
    await page.getByText('More than 200 of 1,000 keys').waitFor();
    await more.click();
    await page.getByText('250 of 1,000 keys', { exact: true }).waitFor();
    expect(await rows.count()).toBe(250);
    expect(await more.count()).toBe(0);

    await page.getByLabel('Order').selectOption('Name');
    await page.getByText('More than 100 of 1,000 keys').waitFor();
    expect([(await names())[0], (await names())[99]]).toEqual(['app 001', 'app 100']);
    const search = page.getByLabel('Search keys');
    await search.fill('P 24');
    await page.getByText('10 keys found', { exact: true }).waitFor();
    expect(await names()).toEqual(Array.from({ length: 10 }, (_, digit) => `app 24${digit}`));
    await search.fill('none of them');
    await page.getByText('No key matches').waitFor();

    // The address and the server get only the ends of a key; the journey fails if the page keeps more.
    await search.fill(issued.key);
    await page.getByRole('link', { name: 'oldest' }).waitFor();
    const ends = `${issued.key.slice(0, 11)}…${issued.key.slice(-4)}`;
    expect([await search.inputValue(), new URL(page.url()).searchParams.get('q')]).toEqual([ends, ends]);
    expect(reads.join(' ')).not.toContain(issued.key);
    await search.fill('');
    await page.getByText('More than 100 of 1,000 keys').waitFor();

    await page.keyboard.press('Control+K');
    await page.getByRole('combobox', { name: 'Search pages and objects' }).fill('oldest');
    await page.getByRole('option', { name: 'oldest …' }).click();
    await page.getByRole('heading', { level: 1, name: 'oldest' }).waitFor();
    await user.close();
  });

  it('shows viewers the list and which role creating needs, and no action on a key', async () => {
    const owner = await newOwner();
    const { json } = await owner.call(owner.path('/keys'), {
      body: { name: 'production', monthly_budget_micro: 12_345_678_901 },
    });
    const viewer = await gateway.dashboardUser({ role: 'viewer', organizationId: owner.organizationId });
    const user = await openKeys(viewer);
    const { page } = user;
    expect(await page.getByRole('button', { name: 'Create key (needs developer)' }).isDisabled()).toBe(true);
    const amounts = page.getByText('$0.00 of $12,345.678901');
    expect(await amounts.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    await open(user, 'production');
    for (const action of ['Settings', 'Replace', 'Disable', 'Revoke']) {
      expect(await page.getByRole('main').getByRole('button', { name: action }).count()).toBe(0);
    }
    user.expectFailure(/^GET .*\/keys\/[^/]+ 404$/);
    await page.goto(`/dashboard/o/${owner.organizationId}/keys/${json.api_key.organization_id}`);
    await page.getByRole('heading', { level: 1, name: 'There is no such API key' }).waitFor();
    await user.close();
  });

  it('shows search and order on one line of a wide screen', async () => {
    const user = await openKeys(await newOwner());
    const { page } = user;
    await createKey(user, 'first');
    await page.setViewportSize({ width: 1440, height: 900 });
    const tops = [page.getByLabel('Search keys'), page.getByLabel('Order')].map((field) => field.boundingBox());
    const [search, order] = await Promise.all(tops);
    expect(order?.y).toBe(search?.y);
    await user.close();
  });
});
