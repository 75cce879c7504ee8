import type { Page } from 'playwright-core';
import { HealthService } from '../../src/models/routing/health.service';
import { chat, ExplainStage, type Subject } from '../e2e/dashboard/explain/explain-stage';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { pictures } from '../harness/pictures';

describeJourney('an explanation', () => {
  let stage: ExplainStage;

  beforeAll(async () => {
    stage = await ExplainStage.start();
  });
  afterAll(async () => {
    await closeBrowser();
    await stage.stop();
  });

  interface Visit {
    readonly user: BrowserUser;
    readonly page: Page;
  }

  async function visit({ customer, developer }: Subject): Promise<Visit> {
    const user = await BrowserUser.signedIn(stage.gateway, developer);
    await user.page.goto(`/dashboard/o/${customer.organizationId}/explain`);
    await user.page.getByLabel('Body (JSON)').waitFor();
    return { user, page: user.page };
  }

  async function explain(page: Page, request: object): Promise<void> {
    await page.getByLabel('Body (JSON)').fill(JSON.stringify(request, null, 2));
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText(/^Would be (?:accepted|refused)/).waitFor();
  }

  /** The title of a refusal names status and code of what the real request gets. */
  async function expectSameRefusal(page: Page, subject: Subject, request: object): Promise<string> {
    const { status, json } = await stage.send(subject, request);
    await page.getByText(`Would be refused with ${status} ${json.error.code}`).waitFor();
    return json.error.code as string;
  }

  const spentBy = async ({ customer }: Subject): Promise<number> =>
    (
      await stage.gateway.rows(
        'SELECT FROM reservation WHERE organization_id = $1 UNION ALL SELECT FROM ledger_entry WHERE organization_id = $1',
        [customer.organizationId],
      )
    ).length;

  it('of an accepted request names checks, candidates, prices, hold and why others are left out, and spends nothing', async () => {
    const subject = await stage.subject({ requestsPerMinute: 60, dailyBudgetMicro: 5_000_000n });
    const { user, page } = await visit(subject);
    await pictures(user, 'explain-empty');
    const before = await spentBy(subject);
    await explain(page, chat());
    await page.getByText('Would be accepted').waitFor();
    const candidates = page.getByRole('region', { name: 'Candidates' });
    expect(await candidates.locator('tbody tr').count()).toBe(2);
    await candidates.getByText('$3.00 in, $9.00 out per 1M tokens').waitFor();
    await page.getByRole('region', { name: 'Excluded' }).getByText('has not configured its provider').waitFor();
    const explained = await stage.explain(subject, chat());
    await page.getByTitle(`${explained.hold_micro} micro-dollars`).first().waitFor();
    await page.getByRole('meter', { name: 'Key: requests per minute' }).waitFor();
    await page.getByRole('meter', { name: 'Key, today (UTC)' }).waitFor();
    expect(await spentBy(subject)).toBe(before);
    await pictures(user, 'explain-accepted');
    const command = await page.getByRole('region', { name: 'curl command' }).innerText();
    const [, body = ''] = /-d '([^]*)'$/.exec(command.trim()) ?? [];
    expect((await stage.send(subject, JSON.parse(body) as object)).status).toBe(200);
    await page.getByRole('link', { name: 'Try it in the playground' }).click();
    await page.getByRole('heading', { level: 1, name: 'Playground' }).waitFor();
    expect(await page.getByRole('combobox', { name: 'Model', exact: true }).inputValue()).toBe('mock/trio');
    await user.close();
  });

  it('of a request over budget, of a broken provider, and of a model not allowed has the code of the real request', async () => {
    const poor = await stage.subject({ dailyBudgetMicro: 1n });
    const first = await visit(poor);
    await explain(first.page, chat());
    expect(await expectSameRefusal(first.page, poor, chat())).toBe('budget_exceeded');
    await pictures(first.user, 'explain-refused');
    await first.user.close();

    const confined = await stage.subject({ allowedModels: ['mock/embed-1'] });
    const second = await visit(confined);
    await explain(second.page, chat());
    await expectSameRefusal(second.page, confined, chat());
    await second.user.close();

    const subject = await stage.subject();
    const third = await visit(subject);
    const request = chat({ model: 'mock/duo' });
    const { candidates } = await stage.explain(subject, request);
    const health = stage.gateway.app.get(HealthService, { strict: false });
    const all = candidates.map(({ deployment_id: id }: { deployment_id: string }) => health.healthOf(id));
    for (const each of all) each.trip(performance.now() + 60_000);
    await explain(third.page, request);
    await expectSameRefusal(third.page, subject, request);
    const reasons = third.page.getByRole('region', { name: 'Excluded' }).getByText('It failed repeatedly');
    expect(await reasons.count()).toBe(2);
    for (const each of all) each.close();
    await third.user.close();
  });

  it('names the line of a mistake in the body, and keeps long numbers as typed', async () => {
    const subject = await stage.subject();
    const { user, page } = await visit(subject);
    const body = page.getByLabel('Body (JSON)');
    await body.fill('{\n  "model": "mock/trio",\n  "messages": [,]\n}');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('Not valid JSON: see line 3.').waitFor();
    await pictures(user, 'explain-syntax');
    await body.fill('{"model":"mock/trio","messages":[{"role":"user","content":"Hi"}],"seed":9007199254740993}');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('Would be refused with 400').waitFor();
    await user.close();
  });

  it('begins with an example for each operation, and keeps key and operation in the URL', async () => {
    const subject = await stage.subject();
    const { user, page } = await visit(subject);
    await page.getByLabel('Operation').selectOption('createVideo');
    await page.waitForURL('**/explain?operation=createVideo');
    expect(JSON.parse(await page.getByLabel('Body (JSON)').inputValue())).toMatchObject({ prompt: 'A boat at sea' });
    await page.reload();
    await page.getByLabel('Operation').waitFor();
    expect(await page.getByLabel('Operation').inputValue()).toBe('createVideo');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText(/^Would be (?:accepted|refused)/).waitFor();
    await user.close();
  });
});
