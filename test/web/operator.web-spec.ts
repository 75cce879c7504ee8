import { randomUUID } from 'node:crypto';
import { OPERATOR, OperatorStage } from '../e2e/dashboard/operator/operator-stage';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { TestCustomer } from '../harness/gateway';

const KEY = 'OPENAI_COMPATIBLE_API_KEY';

describeJourney('pages of the operator', () => {
  let stage: OperatorStage;
  let customer: TestCustomer;
  let user: BrowserUser;

  beforeAll(async () => {
    stage = await OperatorStage.start({ CIRCUIT_BREAKER_FAILURES: '2', MAX_ATTEMPTS: '1' });
    customer = await stage.gateway.customer();
    for (let request = 0; request < 3; request++) await stage.ask(customer, 'local/chat');
  });
  afterAll(async () => {
    await closeBrowser();
    await stage.stop();
  });
  beforeEach(async () => {
    user = await BrowserUser.signedIn(stage.gateway, stage.operator);
  });
  afterEach(() => user.close());

  const open = async (path: string, heading: string): Promise<void> => {
    await user.page.goto(`/dashboard/operator${path}`);
    await user.page.getByRole('heading', { level: 1, name: heading }).waitFor();
  };
  const button = (name: string) => user.page.getByRole('button', { name, exact: true });
  const notice = (text: string) => user.page.locator('output').getByText(text).waitFor();
  const balanceOf = async (): Promise<number> =>
    (await stage.operator.call(`${OPERATOR}/organizations/${customer.organizationId}`)).json.balance_micro;

  it('suspend an organization with a reason, which its members see as a banner, and activate it', async () => {
    const member = await BrowserUser.signedIn(
      stage.gateway,
      await stage.gateway.dashboardUser({ organizationId: customer.organizationId }),
    );
    await open(`/organizations/${customer.organizationId}`, 'test');
    await button('Suspend').click();
    await user.page.getByLabel('Reason').fill('unpaid invoice');
    await user.picture('operator-suspend');
    await button('Suspend organization').click();
    await notice('Organization suspended');
    await user.page.getByText('“unpaid invoice”').waitFor();
    expect((await stage.ask(customer, 'local/chat')).status).toBe(403);
    await member.page.goto(`/dashboard/o/${customer.organizationId}`);
    await member.page.getByText('This organization is suspended').waitFor();
    await button('Activate').click();
    await user.page.getByLabel('Reason').fill('paid');
    await button('Activate organization').click();
    await notice('Organization activated');
    expect((await stage.ask(customer, 'local/chat')).status).toBe(200);
    await member.page.reload();
    await member.page.getByRole('heading', { level: 1 }).waitFor();
    expect(await member.page.getByText('This organization is suspended').count()).toBe(0);
    await member.close();
  });

  it('book a correction once: the same reference again says that it was booked before', async () => {
    const before = await balanceOf();
    await open(`/organizations/${customer.organizationId}`, 'test');
    const fill = async (): Promise<void> => {
      await button('Correct balance').click();
      await user.page.getByLabel('Amount in dollars').fill('2.50');
      await user.page.getByLabel('Reference').fill('credit note 17');
      await user.page.getByLabel('Reason').fill('outage');
      await button('Add').dblclick();
    };
    await fill();
    await notice('Balance corrected by +$2.50');
    expect(await balanceOf()).toBe(before + 2_500_000);
    await fill();
    await user.page.getByText('Booked before', { exact: true }).waitFor();
    await user.picture('operator-booked-before');
    expect(await balanceOf()).toBe(before + 2_500_000);
    await user.page.getByLabel('Kind').selectOption('Deduct credit');
    await user.page.getByLabel('Reference').fill('mistake of credit note 17');
    await button('Deduct').click();
    await notice('Balance corrected by −$2.50');
    expect(await balanceOf()).toBe(before);
    user.expectFailure(/adjustments 402$/);
    await button('Correct balance').click();
    await user.page.getByLabel('Kind').selectOption('Deduct credit');
    await user.page.getByLabel('Reference').fill('too much');
    await user.page.getByLabel('Reason').fill('a typing mistake');
    for (const [amount, problem] of [
      ['ten', 'Dollars with at most six decimals, for example 12.50'],
      ['0', 'Enter an amount of more than $0.00.'],
    ] as const) {
      await user.page.getByLabel('Amount in dollars').fill(amount);
      await button('Deduct').click();
      await user.page.getByText(problem).waitFor();
    }
    await user.page.getByLabel('Amount in dollars').fill('1000');
    await button('Deduct').click();
    await user.page.getByRole('alert').waitFor();
    expect(await balanceOf()).toBe(before);
  });

  it('set the limits of an organization and mark the field that is wrong', async () => {
    await open(`/organizations/${customer.organizationId}`, 'test');
    await button('Set limits').click();
    const keys = user.page.getByRole('spinbutton', { name: 'API keys', exact: true });
    await keys.fill('20000');
    await button('Set limits').last().click();
    expect(await keys.getAttribute('aria-invalid')).toBe('true');
    await keys.fill('7');
    await user.page.getByLabel('Requests per minute').fill('600');
    await user.page.getByLabel('Spending limit per month, in dollars').fill('1043.834');
    await user.picture('operator-limits');
    await button('Set limits').last().click();
    await notice('Limits set');
    await user.page.getByText('$1,043.8340').first().waitFor();
    const { json } = await stage.operator.call(`${OPERATOR}/organizations/${customer.organizationId}`);
    expect(json).toMatchObject({
      max_api_keys: 7,
      requests_per_minute: 600,
      monthly_limit_micro: 1_043_834_000,
      requests_per_second: null,
    });
  });

  it('plan a price and withdraw it, set one that is in force at once, and end it', async () => {
    await open('/models/local/pair', 'local/pair');
    const { page } = user;
    await button('New price').click();
    await page.getByLabel('Input', { exact: false }).first().fill('4');
    await page.getByText('changed').waitFor();
    await page.getByLabel('Start (UTC)').fill('2199-01-01T00:00');
    await page.getByLabel('Reference').fill('price list of 2199');
    await user.picture('operator-new-price');
    await button('Set price').click();
    await notice('Price set');
    await page.getByText('planned', { exact: true }).waitFor();
    await user.picture('operator-model');
    await button('Withdraw').click();
    await button('Withdraw price').click();
    await notice('Price withdrawn');
    await page.getByText('planned', { exact: true }).waitFor({ state: 'detached' });
    await page.getByText('1 earlier version').click();
    await page.getByText('withdrawn', { exact: true }).waitFor();

    await button('New price').click();
    await page.getByLabel('Input', { exact: false }).first().fill('2');
    await page.getByLabel('Output', { exact: false }).first().fill('2');
    await page.getByLabel('Reference').fill('our list');
    await button('Set price').click();
    await notice('Price set');
    await page.getByText('overridden', { exact: true }).waitFor();
    const cost = async () => (await stage.ask(customer, 'local/pair')).headers.get('x-llm-cost-micro');
    expect(await cost()).toBe('2200');
    await button('End').click();
    await page.getByLabel('Reference').fill('campaign is over');
    await button('End price').click();
    await notice('Price end date saved');
    await page.getByText('overridden', { exact: true }).waitFor({ state: 'detached' });
    expect(await cost()).toBe('1100');
  });

  it('set the price of a picture by size and quality, or as JSON', async () => {
    await open('/models/mock/image-1', 'mock/image-1');
    await button('New price').click();
    await user.page.getByLabel('Image, high').fill('0.25');
    await user.page.getByLabel('Reference').fill('our list');
    await user.picture('operator-new-image-price');
    await button('Set price').click();
    await notice('Price set');
    await user.page.getByText('$0.25').waitFor();
    const newest = async () => (await stage.operator.call(`${OPERATOR}/models/mock/image-1/prices`)).json.data[0];
    expect((await newest()).price.image.rows).toEqual([
      { size: '*', quality: 'low', per_image_micro: 2000 },
      { size: '*', quality: 'high', per_image_micro: 250_000 },
      { size: '*', quality: '*', per_image_micro: 4000 },
    ]);
    await button('New price').click();
    await button('Edit as JSON').click();
    const price = user.page.getByLabel('Price as JSON');
    await price.fill('{ "image": ');
    await user.page.getByLabel('Reference').fill('our list');
    await button('Set price').click();
    await user.page.getByText('This is not a JSON object.').waitFor();
    user.expectFailure(/prices 400$/);
    await price.fill('{ "speech": { "per_1k_chars_micro": 1 } }');
    await button('Set price').click();
    await user.page.getByText('price has no amounts for the modality image').waitFor();
    expect(await price.getAttribute('aria-invalid')).toBe('true');
    await price.fill('{ "image": { "rows": [{ "per_image_micro": 1 }] } }');
    await button('Set price').click();
    await notice('Price set');
    await user.page.getByText('$0.000001').waitFor();
    expect((await newest()).price).toEqual({ image: { rows: [{ per_image_micro: 1 }] } });
  });

  it('disable a model and change the order of its deployments', async () => {
    await open('/models?search=local%2F', 'Served models');
    await user.picture('operator-models');
    await user.page.getByRole('link', { name: 'local/pair' }).click();
    await user.page.getByRole('heading', { level: 1, name: 'local/pair' }).waitFor();
    await button('Change availability').click();
    await user.page.getByLabel('The model is').selectOption('Disabled');
    await button('Change').last().click();
    await notice('Availability changed');
    await user.page.getByText('Clients cannot use this model').waitFor();
    expect((await stage.ask(customer, 'local/pair')).status).toBe(404);
    await button('Change availability').click();
    await user.page.getByLabel('The model is').selectOption('As in the catalogue files');
    await button('Change').last().click();
    await user.page.getByText('Clients cannot use this model').waitFor({ state: 'detached' });
    await user.page.getByRole('row', { name: /one-/ }).getByRole('button').click();
    await user.page.getByLabel('Order').fill('5');
    await user.picture('operator-deployment');
    await button('Change').last().click();
    await notice('Deployment changed');
    const { data } = (await stage.operator.call(`${OPERATOR}/deployments?model=local/pair`)).json;
    expect(data.at(-1)).toMatchObject({ priority: 5, decided: { enabled: null, priority: 5, weight: null } });
  });

  it('reset the breaker of a failing deployment', async () => {
    const { answer } = stage.upstream;
    stage.upstream.answer = (response) => {
      response.statusCode = 401;
      response.end('{"error":{"message":"no"}}');
    };
    expect((await stage.ask(customer, 'local/chat')).status).toBe(502);
    stage.upstream.answer = answer;
    await open('', 'Platform');
    await user.page.getByRole('link', { name: '1 breaker open' }).click();
    await user.page.getByRole('heading', { level: 1, name: 'Providers' }).waitFor();
    await user.page.getByRole('button', { name: 'Reset breaker of local/chat' }).waitFor();
    await user.picture('operator-providers-failing');
    await user.page.getByRole('button', { name: /^Reset breaker of local\/chat \(chat-/ }).click();
    await button('Reset breaker').last().click();
    await notice('Breaker reset');
    await user.page.getByText('No deployment is failing').waitFor();
    expect((await stage.ask(customer, 'local/chat')).status).toBe(200);
  });

  it('store and delete a credential whose value is never shown', async () => {
    const secret = `sk-${randomUUID()}-last`;
    const texts: Promise<string>[] = [];
    user.page.on('response', (response) => texts.push(response.text().catch(() => '')));
    await open('/credentials?show=all', 'Credentials');
    await user.page.getByRole('button', { name: `Set ${KEY}` }).click();
    await user.page.getByLabel('Value', { exact: true }).fill(secret);
    await user.picture('operator-set-credential');
    await button('Store').click();
    await notice('Credential stored');
    await user.page.getByText('…last').waitFor();
    await user.picture('operator-credentials');
    const kept = await user.page.evaluate<string>(
      'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.documentElement.outerHTML + location.href',
    );
    expect(kept).not.toContain(secret);
    await open('/audit', 'Changes');
    await user.page.getByRole('list', { name: 'Changes' }).getByText('Credential set').waitFor();
    await user.picture('operator-changes');
    expect(await user.page.content()).not.toContain(secret);
    expect((await Promise.all(texts)).join('')).not.toContain(secret);
    await open(`/credentials?search=${KEY}`, 'Credentials');
    await user.page.getByRole('button', { name: `Delete ${KEY}` }).click();
    await button('Delete credential').click();
    await notice('Credential deleted');
    await user.page.getByRole('button', { name: `Set ${KEY}` }).waitFor();
  });

  it('store a provider instance, keep its key through a change, and delete it', async () => {
    await open('/credentials', 'Credentials');
    await button('New instance').click();
    await user.page.getByLabel('Name', { exact: true }).fill('vllm-eu');
    await user.page.getByLabel('Wire format').fill('openai-compatible');
    await user.page.getByLabel('Address').fill(`${stage.upstream.origin}/eu/v1`);
    await user.page.getByLabel('New key', { exact: true }).fill('sk-of-the-server-in-europe-4711');
    await button('Store').click();
    await notice('Provider instance stored');
    await user.page.getByText('…4711').waitFor();
    await user.page.getByRole('button', { name: 'Change vllm-eu' }).click();
    await user.page.getByLabel('New key', { exact: true }).fill('sk-of-the-server-in-europe-0815');
    await user.picture('operator-provider-instance');
    await button('Store').click();
    await user.page.getByText('…4711, …0815').waitFor();
    await user.page.getByRole('button', { name: 'Delete vllm-eu' }).click();
    await button('Delete instance').click();
    await user.page.getByText('No provider instances').waitFor();
  });

  it('keep a key that another operator adds while the dialog of a provider instance is open', async () => {
    const path = `${OPERATOR}/provider-instances/vllm-us`;
    const body = { module: 'openai-compatible', base_url: `${stage.upstream.origin}/us/v1` };
    await stage.operator.call(path, { method: 'PUT', body: { ...body, api_keys: [{ key: 'sk-of-the-server-4711' }] } });
    await open('/credentials', 'Credentials');
    await user.page.getByRole('button', { name: 'Change vllm-us' }).click();
    const both = [{ key: 'sk-of-the-server-4711' }, { key: 'sk-of-the-server-0815' }];
    await stage.operator.call(path, { method: 'PUT', body: { ...body, api_keys: both } });
    user.expectFailure(/^PUT .*\/provider-instances\/vllm-us 409$/);
    await button('Store').click();
    await user.page.getByText('changed or deleted meanwhile').waitFor();
    await button('Cancel').click();
    await user.page.getByText('…4711, …0815').waitFor();
    await stage.operator.call(path, { method: 'DELETE' });
  });

  it('mark instances whose version differs', async () => {
    const id = 'instance-of-yesterday';
    await stage.gateway.rows(
      `INSERT INTO gateway_instance (id, version, started_at, heartbeat_at)
       VALUES ($1, '0.0.1-old', now() - interval '1 day', now() + interval '1 hour')`,
      [id],
    );
    try {
      await open('/instances', 'Instances');
      await user.page.getByText('Not all instances run the same version').waitFor();
      expect(await user.page.getByRole('row', { name: id }).getByText('differs').count()).toBe(1);
      expect(await user.page.getByText('differs', { exact: true }).count()).toBe(1);
      await user.page.getByRole('row', { name: /^Ledger audit/ }).waitFor();
      await user.picture('operator-instances');
    } finally {
      await stage.gateway.rows('DELETE FROM gateway_instance WHERE id = $1', [id]);
    }
  });

  it('disable a user, whose session ends, and enable the account again', async () => {
    const other = await stage.gateway.dashboardUser();
    await open(`/users?search=${other.email}`, 'Users');
    await user.page.getByRole('button', { name: `Disable ${other.email}` }).click();
    await button('Disable user').click();
    await notice('User disabled');
    expect((await other.call('/dashboard/api/me')).status).toBe(401);
    await user.page.getByRole('button', { name: `Enable ${other.email}` }).click();
    await button('Enable user').click();
    await notice('User enabled');
    await open(`/users?search=${stage.operator.email}`, 'Users');
    await user.page.getByText('you', { exact: true }).waitFor();
    expect(await user.page.getByRole('button', { name: 'Disable' }).count()).toBe(0);
  });

  it('keep their filters through reload and Back', async () => {
    const organizations = user.page.getByRole('region', { name: 'Organizations' }).getByRole('row');
    await open('/organizations', 'Organizations');
    await user.page.getByLabel('State').selectOption('suspended');
    await user.page.getByText('No organization matches').waitFor();
    await user.page.reload();
    await user.page.getByText('No organization matches').waitFor();
    await user.page.goBack();
    await organizations.first().waitFor();
    await user.page.getByLabel('Search by name').fill('no such name');
    await user.page.getByText('No organization matches').waitFor();
    expect(user.page.url()).toContain('search=no+such+name');
  });

  it('exist for platform staff only: others have no link to them, and their address loads nothing', async () => {
    const owner = await stage.gateway.dashboardUser({ role: 'owner' });
    const visitor = await BrowserUser.signedIn(stage.gateway, owner);
    const asked: string[] = [];
    visitor.page.on('request', (request) => asked.push(request.url()));
    for (const path of ['', '/organizations', '/users', '/models', '/credentials', '/audit']) {
      await visitor.page.goto(`/dashboard/operator${path}`);
      await visitor.page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor();
    }
    expect(asked.filter((url) => url.includes('/dashboard/api/operator'))).toEqual([]);
    expect(await visitor.page.getByRole('link', { name: 'Platform' }).count()).toBe(0);
    await visitor.close();
    await open('', 'Platform');
    for (const name of ['Platform', 'Organizations', 'Users', 'Served models', 'Providers', 'Credentials', 'Changes']) {
      expect(await user.page.getByRole('navigation').getByRole('link', { name, exact: true }).count()).toBe(1);
    }
  });
});
