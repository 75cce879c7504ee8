import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import type { UsageReceipt } from '../../src/contract/dashboard';
import { insertReceipts } from '../integration/usage/receipts';
import { UsageWorld } from '../e2e/dashboard/usage/usage-world';
import { refuses } from '../e2e/routing/two-upstreams';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { CallReply } from '../harness/gateway';

const ROWS = '[data-row-link]';
const DASHBOARD_WIDTHS = { width: 1280, height: 800 };

describeJourney('watching requests and spending', () => {
  let usage: UsageWorld;
  let user: BrowserUser;

  beforeAll(async () => {
    usage = await UsageWorld.start({ MOCK_MEDIA_PROVIDER: 'true' });
  });
  beforeEach(() => usage.reset());
  afterAll(async () => {
    await closeBrowser();
    await usage.stop();
  });

  const signIn = async (options = {}): Promise<void> => {
    user = await BrowserUser.signedIn(usage.upstreams.gateway, usage.viewer, options);
  };
  const open = (path: string) => user.page.goto(`/dashboard/o/${usage.viewer.organizationId}${path}`);
  const insert = (count: number, hours: number) =>
    insertReceipts(usage.upstreams.gateway.pool, {
      organizationId: usage.viewer.organizationId,
      count,
      hours,
      models: 3,
    });
  /** Texts of the column of a table, by the name of its region and the number of the column. */
  const column = (region: string, index: number) =>
    user.page.getByRole('region', { name: region, exact: true }).locator(`tbody td:nth-child(${index})`);

  describe('the list of requests', () => {
    it('keeps its filters across reload, Back and a new tab', async () => {
      await insert(120, 5);
      await signIn();
      const { page } = user;
      await open('/requests');
      await page.locator(ROWS).nth(49).waitFor();
      await page.getByLabel('Status', { exact: true }).selectOption('error');
      await page.getByRole('button', { name: 'Clear all filters' }).waitFor();
      const shown = async (): Promise<string[]> => {
        await page.locator(`${ROWS} >> nth=0`).waitFor();
        return column('Requests', 3).allInnerTexts();
      };
      await expectRows(1);
      const failed = await shown();
      expect(page.url()).toMatch(/\/requests\?status=error$/);

      await page.reload();
      await expectRows(1);
      expect(await shown()).toEqual(failed);
      await page.goBack();
      await expectRows(50);
      await page.goForward();
      await expectRows(1);

      const tab = await user.context.newPage();
      await tab.goto(page.url());
      await tab.locator(ROWS).waitFor();
      expect(await tab.getByLabel('Status', { exact: true }).inputValue()).toBe('error');
      await user.close();
    });

    it('shows the same requests as its CSV, in the same order', async () => {
      await insert(120, 5);
      await usage.upstreams.call('local/solo');
      await signIn();
      const { page } = user;
      await open('/requests?model=vendor/model-1');
      await page.locator(ROWS).first().waitFor();
      const href = await page.getByRole('link', { name: 'CSV', exact: true }).getAttribute('href');
      const lines = (await usage.viewer.call(href ?? '')).text.trim().split('\r\n').slice(1);
      expect(lines.length).toBeGreaterThan(20);
      await expectRows(Math.min(lines.length, 50));
      if (lines.length > 50) await page.getByRole('button', { name: 'Show more' }).click();
      await expectRows(lines.length);
      expect(await linkedIds()).toEqual(lines.map((line) => line.split(',')[0]));
      await user.close();
    });

    it('moves among rows with j and k in the displayed order, and opens one with Enter', async () => {
      await insert(5, 5);
      await signIn();
      const { page } = user;
      await open('/requests');
      await expectRows(5);
      const ids = await linkedIds();
      const focused = async () => (await page.locator(':focus').getAttribute('href'))?.split('/').at(-1);
      for (const [key, index] of [
        ['j', 0],
        ['j', 1],
        ['j', 2],
        ['k', 1],
      ] as const) {
        await page.keyboard.press(key);
        expect(await focused()).toBe(ids[index]);
      }
      await page.keyboard.press('Enter');
      await page.getByRole('region', { name: 'Receipt', exact: true }).getByText('Charged', { exact: true }).waitFor();
      expect(page.url()).toContain(ids[1]);
      await user.close();
    });

    it('adds new requests live, but does not move the row that is being read', async () => {
      await insert(5, 5);
      await signIn();
      const { page } = user;
      await open('/requests');
      await expectRows(5);
      await page.getByRole('button', { name: 'Live' }).click();
      await usage.upstreams.call('local/solo');
      await expectRows(6);
      const read = page.locator(ROWS).nth(2);
      await read.hover();
      const before = [await read.getAttribute('href'), await read.boundingBox()];
      await usage.upstreams.call('local/solo');
      const more = page.getByRole('button', { name: 'Show 1 new request' });
      await more.waitFor();
      expect([await read.getAttribute('href'), await read.boundingBox()]).toEqual(before);
      await more.click();
      await expectRows(7);
      await user.close();
    });
  });

  describe('a receipt', () => {
    it.each([
      ['a chat', () => usage.upstreams.call('local/solo')],
      [
        'an image',
        () => post('/v1/images/generations', { model: 'mock/image-1', prompt: 'A cat', size: '256x256', n: 2 }),
      ],
      ['a job', job],
    ])('adds up to the charge of %s', async (_, send) => {
      const receipt = await usage.receiptOf(await send());
      expect(receipt.cost_micro).toBeGreaterThan(0);
      await signIn();
      await open(`/requests/${receipt.request_id}`);
      await user.page.getByText('Charged').waitFor();
      const costs = await column('Cost', 4).locator('[title]').evaluateAll(microTitles);
      const charged = costs.pop();
      expect(charged).toBe(receipt.cost_micro);
      expect(costs).toEqual(receipt.lines.map((line) => line.cost_micro));
      expect(costs.reduce((sum, cost) => sum + cost, 0)).toBe(charged);
      await user.picture(`receipt-of-${receipt.modality}`);
      await user.close();
    });

    it('shows each attempt of a failure that cost nothing', async () => {
      usage.upstreams.first.answer = refuses(503);
      usage.upstreams.second.answer = refuses(400);
      const receipt = await usage.receiptOf(await usage.upstreams.call('local/pair'));
      expect(receipt.attempts).toHaveLength(3);
      await signIn();
      const { page } = user;
      await open(`/requests/${receipt.request_id}`);
      await page.getByText(`Nothing was charged, because the request ended with ${receipt.error_code}.`).waitFor();
      const attempts = page.getByRole('region', { name: 'Attempts' }).getByRole('listitem');
      expect(await attempts.count()).toBe(3);
      for (const { number, provider, outcome } of receipt.attempts) {
        const text = await attempts.nth(number - 1).innerText();
        expect(text).toContain(`${number}. ${provider}`);
        expect(text).toContain(outcome);
        expect(text).toMatch(/called after \d/);
      }
      await user.close();
    });

    it('names the deployment that answered as a fallback, and the calls that failed before', async () => {
      usage.upstreams.first.answer = refuses(503);
      const receipt = await usage.receiptOf(await usage.upstreams.call('local/pair'));
      const answered = receipt.attempts.at(-1);
      expect([receipt.status, answered?.outcome, answered?.provider]).toEqual(['success', 'success', 'openai']);
      await signIn();
      const { page } = user;
      await open(`/requests/${receipt.request_id}`);
      const details = page.getByRole('region', { name: 'Details' });
      const failed = receipt.attempts.length - 1;
      await details.getByText(`Fallback after ${failed} failed call${failed === 1 ? '' : 's'}`).waitFor();
      expect(await details.innerText()).toContain(answered?.deployment_id);
      await user.close();
    });

    it('leads developers to Explain with its key, operation and model', async () => {
      const receipt = await usage.receiptOf(await usage.upstreams.call('local/pair'));
      const { organizationId } = usage.viewer;
      const developer = await usage.upstreams.gateway.dashboardUser({ organizationId, role: 'developer' });
      user = await BrowserUser.signedIn(usage.upstreams.gateway, developer);
      const { page } = user;
      await open(`/requests/${receipt.request_id}`);
      await page.getByRole('main').getByRole('link', { name: 'Explain' }).click();
      await page.getByRole('heading', { level: 1, name: 'Explain' }).waitFor();
      expect(await page.getByLabel('API key', { exact: true }).inputValue()).toBe(receipt.key_id);
      expect(await page.getByLabel('Body (JSON)').inputValue()).toContain('"model": "local/pair"');
      await user.close();
    });

    it('does not exist for requests of another organization', async () => {
      const receipt = await usage.receiptOf(await usage.upstreams.call('local/solo'));
      await usage.reset();
      await signIn();
      user.expectFailure(/^GET .*\/usage\/requests\/req_\w+ 404$/);
      await open('/requests');
      await user.page.getByLabel('Request id').fill(receipt.request_id);
      await user.page.keyboard.press('Enter');
      await user.page.getByRole('heading', { level: 1, name: 'There is no such request' }).waitFor();
      await user.close();
    });
  });

  describe.each(['Asia/Kolkata', 'America/Los_Angeles'])('usage with a browser in %s', (timezoneId) => {
    beforeEach(async () => {
      // Seven whole days, so that the first one has requests at any time of day.
      await insert(175, 24 * 7);
      await signIn({ timezoneId, viewport: DASHBOARD_WIDTHS });
    });
    afterEach(() => user.close());

    it('shows the same as getUsageSeries to the micro-unit in table, chart and CSV', async () => {
      const { page } = user;
      await open('/usage?range=7d');
      const series = await usage.series(`?from=${sevenDays()}&group_by=model`);
      await page.getByText('Largest share').waitFor();
      const costs = await column('Totals', 7).locator('[title]').evaluateAll(microTitles);
      expect(costs).toEqual([...series.data.map((group) => group.total.cost_micro), series.total.cost_micro]);

      const chart = page.locator('.recharts-surface');
      await chart.focus();
      const days = series.data[0]?.buckets.map(({ starts_at }) => starts_at) ?? [];
      expect(days).toHaveLength(7);
      const perDay = days.map((_, index) =>
        series.data.reduce((sum, { buckets }) => sum + (buckets[index]?.cost_micro ?? 0), 0),
      );
      await page.getByRole('status').filter({ hasText: 'UTC' }).waitFor();
      const read: number[] = [];
      for (const day of days) {
        const tooltip = page.getByRole('status').filter({ hasText: `${Number(day.slice(8, 10))} ` });
        // Amounts become visible last.
        await tooltip.locator('li span').last().waitFor();
        const amounts = await tooltip.getByRole('listitem').allInnerTexts();
        read.push(amounts.reduce((sum, text) => sum + microOf(text.split('$')[1] ?? ''), 0));
        await page.keyboard.press('ArrowRight');
      }
      expect(read).toEqual(perDay);

      await page.getByRole('button', { name: 'Show as table' }).click();
      const texts = await column('Cost by day as a table', 2).allInnerTexts();
      expect(texts.map((text) => microOf(text.slice(1)))).toEqual(perDay);

      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'CSV' }).click(),
      ]);
      const lines = readFileSync(await download.path(), 'utf8')
        .trim()
        .split('\r\n')
        .slice(1);
      expect(lines).toHaveLength(7 * series.data.length);
      expect(lines.reduce((sum, line) => sum + Number(line.split(',')[7]), 0)).toBe(series.total.cost_micro);
    });

    it('shows the median and 95 % of the time to the first token and in total, as in getUsageSeries', async () => {
      const { page } = user;
      for (const [metric, head] of [
        ['first_token_ms', 'First token'],
        ['total_ms', 'Total time'],
      ] as const) {
        await open(`/usage?range=7d&metric=${metric}&group=model`);
        const series = await usage.series(`?from=${sevenDays()}&group_by=model`);
        const times = [...series.data.map(({ total }) => total), series.total].map((sums) => sums[metric]);
        const table = page.getByRole('region', { name: 'Totals', exact: true });
        await table.getByRole('columnheader', { name: `${head}, median` }).waitFor();
        expect(await column('Totals', 2).allInnerTexts()).toEqual(times.map((each) => `${each?.p50} ms`));
        expect(await column('Totals', 3).allInnerTexts()).toEqual(times.map((each) => `${each?.p95} ms`));
        await page.getByText('Half of the requests within').waitFor();
        await page
          .getByRole('figure', { name: `${head} by day` })
          .locator('.recharts-line path')
          .first()
          .waitFor();
      }
      await open('/usage?range=7d&metric=total_ms&group=none');
      await page.getByRole('button', { name: 'Show as table' }).click();
      const { data } = await usage.series(`?from=${sevenDays()}&group_by=none`);
      const perDay = data[0]?.buckets.map(({ total_ms: times }) => (times === null ? '–' : `${times.p95} ms`));
      expect(await column('Total time by day as a table', 3).allInnerTexts()).toEqual(perDay);
    });

    it('leads from a column to as many requests as it counts', async () => {
      const { page } = user;
      await open('/usage?range=7d&metric=requests&group=none');
      const chart = page.locator('.recharts-surface');
      await chart.locator('path').last().waitFor();
      await chart.hover();
      const count = page.getByRole('status').locator('li span').last();
      await count.waitFor();
      const counted = Number(await count.innerText());
      expect(counted).toBeGreaterThan(10);
      await chart.click();
      await page.waitForURL(/\/requests\?/);
      await expectRows(counted);
      expect(new URL(page.url()).searchParams.get('from')).toMatch(/T00:00:00\.000Z$/);
    });
  });

  describe('the overview', () => {
    it('leads a new organization to the receipt of its first request', async () => {
      await signIn();
      const { page } = user;
      await open('');
      await page.getByText('Waiting for your first request').waitFor();
      expect(await page.getByLabel('curl command').innerText()).toContain(
        `${usage.upstreams.gateway.url}/v1/chat/completions`,
      );
      const reply = await usage.upstreams.call('local/solo');
      await page.getByRole('link', { name: 'See its receipt' }).click();
      await page.getByRole('heading', { level: 1, name: 'Request', exact: true }).waitFor();
      expect(page.url()).toContain(reply.headers.get('x-request-id'));
      await user.close();
    });

    it('shows money, activity, expensive keys and the last errors', async () => {
      await insert(300, 24 * 20);
      usage.upstreams.first.answer = refuses(503);
      await usage.upstreams.call('local/solo');
      await signIn();
      const { page } = user;
      await open('');
      await page.getByText('Error rate, 24 h').waitFor();
      await page.getByRole('figure', { name: 'First token by hour' }).locator('.recharts-line').first().waitFor();
      const median = page.getByText('First token, median, 24 h').locator('..');
      expect(await median.innerText()).toMatch(/\d+ ms\n+95% within \d+ ms/);
      await page.getByRole('figure', { name: 'Cost by day' }).locator('.recharts-surface').waitFor();
      expect(await page.getByText('Available', { exact: true }).locator('..').innerText()).toContain('$10.00');
      expect(await column('Last errors', 1).first().innerText()).toBe('local/solo');
      await page.getByRole('region', { name: 'Last errors', exact: true }).locator(ROWS).first().click();
      await page.getByText('Nothing was charged').waitFor();
      await user.close();
    });
  });

  /** Waits until the list has exactly this many rows. */
  async function expectRows(count: number): Promise<void> {
    const rows = user.page.locator(ROWS);
    if (count > 0) await rows.nth(count - 1).waitFor();
    await rows.nth(count).waitFor({ state: 'detached' });
  }

  async function linkedIds(): Promise<(string | undefined)[]> {
    const links = await user.page.locator(ROWS).evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    return links.map((href) => href?.split('/').at(-1));
  }

  function post(path: string, body: object): Promise<CallReply> {
    return usage.upstreams.gateway.call(path, {
      key: usage.upstreams.customer.key,
      headers: { 'idempotency-key': randomUUID() },
      body,
    });
  }

  /** A finished video. */
  async function job(): Promise<CallReply> {
    const reply = await post('/v1/video/generations', {
      model: 'mock/video-1',
      prompt: 'A cat [[mock: queued=0 run=0]]',
      duration_seconds: 1,
      audio: false,
    });
    for (;;) {
      const receipt: { readonly status: number; readonly json: UsageReceipt } = await usage.get(
        `/requests/${reply.json.id}`,
      );
      if (receipt.status === 200) return reply;
    }
  }
});

/** The integers in the titles of amounts. */
function microTitles(amounts: readonly { getAttribute(name: string): string | null }[]): number[] {
  return amounts.map((amount) => Number(amount.getAttribute('title')?.split(' ')[0]));
}

/** Micro-units of a written amount. */
function microOf(text: string): number {
  return Math.round(Number(text.replaceAll(',', '')) * 1_000_000);
}

function sevenDays(): string {
  return new Date(Date.now() - 6 * 86_400_000).toISOString().slice(0, 10);
}
