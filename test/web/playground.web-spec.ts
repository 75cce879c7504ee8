import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { LedgerService } from '../../src/billing/ledger/ledger.service';
import { FakeUpstream } from '../conformance/fake-upstream';
import { until } from '../faults/figures';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import type { DashboardClient } from '../harness/dashboard-client';
import { TestGateway } from '../harness/gateway';
import { endMockMediaJobs } from '../harness/mock-media';
import { pictures } from '../harness/pictures';
import { chunk, createCatalog, usageChunk } from '../harness/upstream-models';
import { expectCostOfReceipt, jsonOf, problemsOfJsonDialog, receiptOf, untilGrown } from './playground-answers';

const CREDIT_MICRO = 10_000_000n;

describeJourney('the playground', () => {
  let upstream: FakeUpstream;
  let catalog: ReturnType<typeof createCatalog>;
  let gateway: TestGateway;

  const jobsOfProvider = (): string => join(catalog.path, 'jobs');

  beforeAll(async () => {
    upstream = await FakeUpstream.start();
    catalog = createCatalog();
    gateway = await TestGateway.start({
      OPENAI_COMPATIBLE_BASE_URL: `${upstream.origin}/v1`,
      CATALOG_DIR: catalog.path,
      MOCK_MEDIA_PROVIDER: 'true',
      MOCK_MEDIA_DIR: jobsOfProvider(),
      WORKER: 'inline',
    });
  });
  afterAll(async () => {
    await closeBrowser();
    await gateway.stop();
    await upstream.stop();
    catalog.remove();
  });

  /** A developer of an organization with credit, on a tab of the playground. */
  async function visit(kind: string): Promise<{ developer: DashboardClient; user: BrowserUser; page: Page }> {
    const developer = await gateway.dashboardUser({ role: 'developer' });
    const ledger = gateway.app.get(LedgerService, { strict: false });
    await ledger.topUp(developer.organizationId, CREDIT_MICRO, randomUUID());
    const user = await BrowserUser.signedIn(gateway, developer);
    await user.page.goto(`/dashboard/o/${developer.organizationId}/playground/${kind}`);
    return { developer, user, page: user.page };
  }

  it('streams a chat, stops it, and shows the exact cost of its receipt', async () => {
    const { developer, user, page } = await visit('chat');
    await developer.call(developer.path('/keys'), { body: {} });
    await choose(page, 'Model').selectOption('mock/chat-1');
    const message = page.getByLabel('Message', { exact: true });
    await message.fill('Tell me about tea. [[mock: tokens=30 delay=20ms]]');
    await message.press('Enter');
    const answer = page.getByRole('article').last();
    const cost = await expectCostOfReceipt(developer, answer);
    await page.getByText('Spent on this page').getByTitle(`${cost} micro-dollars`).waitFor();
    await page
      .locator('[aria-live=polite]')
      .getByText(/^Answer complete: \$0\.\d+$/)
      .waitFor();
    await pictures(user, 'playground-chat');
    const [request, reply] = await jsonOf(page, answer);
    expect(await problemsOfJsonDialog(page, answer)).toEqual([]);
    expect(JSON.parse(request)).toMatchObject({ model: 'mock/chat-1', stream: true });
    const events = JSON.parse(reply) as { usage?: { x_llm_cost_micro: number } | null }[];
    expect(events.find(({ usage }) => usage != null)?.usage?.x_llm_cost_micro).toBe(cost);
    await message.fill('What would this cost?');
    await page.getByRole('link', { name: 'Explain', exact: true }).last().click();
    await page.getByRole('heading', { level: 1, name: 'Explain' }).waitFor();
    expect(await page.getByLabel('Body (JSON)').inputValue()).toContain('What would this cost?');
    await page.goBack();

    await message.fill('A long story [[mock: tokens=5000 delay=20ms]]');
    await message.press('Enter');
    // Not the name of the model: without a response there is no receipt.
    await page.getByRole('article').nth(1).getByText('A long story').waitFor();
    await untilGrown(page.getByRole('article').nth(1), 5);
    // The receipt of a stopped stream appears a moment later.
    user.expectFailure(/^GET .*\/usage\/requests\/req_\w+ 404$/);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('stopped', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await expectCostOfReceipt(developer, page.getByRole('article').nth(1));
    await page.reload();
    await page.getByRole('article').nth(1).waitFor();
    await user.close();
  });

  it.each([
    ['the first answer', []],
    ['an answer below the edge of the window', ['A long story [[mock: tokens=2000 delay=0ms]]']],
  ])('keeps "Stop" below the pointer while %s grows', async (_name, earlier) => {
    let grow: (line: string) => void = () => undefined;
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      grow = (line) => response.write(chunk({ content: `${line}\n\n` }));
      grow('The first line.');
    };
    const { user, page } = await visit('chat');
    const message = page.getByLabel('Message', { exact: true });
    await choose(page, 'Model').selectOption('mock/chat-1');
    for (const text of earlier) {
      await message.fill(text);
      await message.press('Enter');
      await page.getByRole('article').last().getByRole('link', { name: 'Receipt' }).waitFor();
    }
    await choose(page, 'Model').selectOption('local/chat');
    await message.fill('Tell me about tea.');
    await message.press('Enter');
    const answer = page.getByRole('article').last();
    await answer.getByText('The first line.').waitFor();
    // The receipt of a stopped stream appears a moment later.
    user.expectFailure(/^GET .*\/usage\/requests\/req_\w+ 404$/);
    await page.getByRole('button', { name: 'Stop' }).hover();
    for (let line = 1; line <= 60; line += 1) {
      if (line === 30) await page.mouse.down();
      grow(`Line ${line}.`);
      await answer.getByText(`Line ${line}.`).waitFor();
    }
    await page.mouse.up();
    await answer.getByText('stopped', { exact: true }).waitFor();
    await user.close();
  });

  it('asks three models side by side, each with its own cost', async () => {
    upstream.answer = (response, { body }) => {
      const { model } = JSON.parse(body) as { model: string };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${chunk({ content: `I am ${model}.` })}${chunk({}, 'stop')}${usageChunk(10, 20)}data: [DONE]\n\n`);
    };
    const { developer, user, page } = await visit('chat');
    await choose(page, 'Model').selectOption('local/chat');
    for (const [index, model] of ['local/unbounded', 'mock/chat-1'].entries()) {
      await page.getByRole('button', { name: 'Compare with another model' }).click();
      await choose(page, `Model ${index + 2}`).selectOption(model);
    }
    await page.getByLabel('Message', { exact: true }).fill('Who are you?');
    await page.getByRole('button', { name: 'Send' }).click();
    const answers = page.getByRole('article');
    for (const index of [0, 1, 2]) await answers.nth(index).getByRole('link', { name: 'Receipt' }).waitFor();
    const models: string[] = [];
    for (const index of [0, 1, 2]) {
      await expectCostOfReceipt(developer, answers.nth(index));
      models.push((await receiptOf(developer, answers.nth(index))).model);
    }
    expect(models.toSorted()).toEqual(['local/chat', 'local/unbounded', 'mock/chat-1']);
    await pictures(user, 'playground-compare');
    await user.close();
  });

  it('sends an attached picture and shows it, to models that read images, once it has been read', async () => {
    const { user, page } = await visit('chat');
    await choose(page, 'Model').selectOption('mock/chat-1');
    const finishReading = await page.evaluateHandle(() => {
      const read = FileReader.prototype.readAsDataURL;
      const waiting: (() => void)[] = [];
      FileReader.prototype.readAsDataURL = function (file) {
        waiting.push(() => read.call(this, file));
      };
      return () => waiting.forEach((start) => start());
    });
    await page.getByLabel('Files').setInputFiles(join(__dirname, '../../src/web/pictures/overview.png'));
    await page.getByLabel('Message', { exact: true }).fill('What is this?');
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    await finishReading.evaluate((finish) => finish());
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('article').getByText('an image').waitFor();
    const width = await page
      .locator('main li img')
      .first()
      .evaluate((image: HTMLImageElement) => image.naturalWidth);
    expect(width).toBe(1280);
    await user.close();
  });

  it('never runs, loads or moves what a model writes', async () => {
    const hostile = [
      '<script>document.title = "owned"</script><img src=x onerror="document.title = \'owned\'">',
      '[go](javascript:document.title="owned") [data](data:text/html,x) ![p](https://evil.example/pixel.png)',
      '<iframe src="https://evil.example"></iframe><style>body { display: none }</style>',
      `\u202E${'x'.repeat(1_000_000)}`,
    ].join('\n\n');
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const half = hostile.length >> 1;
      response.end(
        `${chunk({ content: hostile.slice(0, half) })}${chunk({ content: hostile.slice(half) })}${chunk({}, 'stop')}${usageChunk(1, 1)}data: [DONE]\n\n`,
      );
    };
    const { user, page } = await visit('chat');
    await choose(page, 'Model').selectOption('local/chat');
    const title = await page.title();
    const message = page.getByLabel('Message', { exact: true });
    for (const text of ['long', 'short']) {
      await message.fill(text);
      await message.press('Enter');
      await page.getByRole('article').last().getByRole('link', { name: 'Receipt' }).waitFor();
    }
    // A shorter text of the same kind is laid out as Markdown.
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        `${chunk({ content: hostile.slice(0, 400) })}${chunk({}, 'stop')}${usageChunk(1, 1)}data: [DONE]\n\n`,
      );
    };
    await message.fill('markdown');
    await message.press('Enter');
    const last = page.getByRole('article').last();
    await last.getByText('(evil.example)').waitFor();
    expect(await page.title()).toBe(title);
    const found = await page.evaluate(() =>
      ['script', 'iframe', 'style', 'img[src*="evil"]', 'a[href^="javascript:"]', 'a[href^="data:"]'].map(
        (selector) => document.querySelectorAll(`main ${selector}`).length,
      ),
    );
    expect(found).toEqual([0, 0, 0, 0, 0, 0]);
    // The shortest of several: a busy machine delays some frames, and a page that is slow to lay out all of them.
    const frameMs = await page.evaluate(async () => {
      const tookMs: number[] = [];
      for (let frame = 0; frame < 10; frame++) {
        const startedAt = performance.now();
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        tookMs.push(performance.now() - startedAt);
      }
      return Math.min(...tookMs);
    });
    expect(frameMs).toBeLessThan(200);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
    await user.close();
  });

  it('makes a picture of the chosen size, speaks, and writes down what was spoken', async () => {
    const { developer, user, page } = await visit('image');
    await page.getByLabel('Prompt').fill('A lighthouse');
    await page.getByLabel('Size').selectOption('512x512');
    await page.getByText('Estimated cost').waitFor();
    await page.getByRole('button', { name: 'Generate image' }).click();
    const picture = page.getByRole('img', { name: 'A lighthouse' });
    await picture.waitFor();
    expect(await picture.evaluate((image: HTMLImageElement) => [image.naturalWidth, image.naturalHeight])).toEqual([
      512, 512,
    ]);
    await expectCostOfReceipt(developer, page.getByRole('figure'));
    await pictures(user, 'playground-image');
    const [request, reply] = await jsonOf(page, page.getByRole('figure'));
    expect(JSON.parse(request)).toMatchObject({ prompt: 'A lighthouse', size: '512x512' });
    expect(JSON.parse(reply).data[0].b64_json).toMatch(/^iVBOR/);

    await page.getByRole('link', { name: 'Speech', exact: true }).click();
    await page.getByLabel('Text', { exact: true }).fill('The quick brown fox');
    await page.getByRole('button', { name: 'Speak' }).click();
    const sound = page.getByLabel('Spoken text');
    await sound.waitFor();
    const seconds = await sound.evaluate(
      (audio: HTMLAudioElement) =>
        new Promise<number>((resolve, reject) => {
          audio.addEventListener('ended', () => resolve(audio.currentTime));
          audio.addEventListener('error', () => reject(new Error('not playable')));
          audio.muted = true;
          audio.playbackRate = 4;
          void audio.play();
        }),
    );
    expect(seconds).toBeGreaterThan(0.5);
    await expectCostOfReceipt(developer, page.getByRole('article'));
    expect((await jsonOf(page, page.getByRole('article')))[1]).toContain('"content_type": "audio/mpeg"');
    await pictures(user, 'playground-speech');
    await page.getByRole('link', { name: 'Transcription', exact: true }).click();
    await page
      .getByLabel('Recording', { exact: true })
      .setInputFiles({ name: 'fox.mp3', mimeType: 'audio/mpeg', buffer: await spoken('The quick brown fox') });
    await page.getByRole('button', { name: 'Transcribe' }).click();
    const transcript = page.getByRole('article');
    await transcript.getByText('The quick brown fox').waitFor();
    await expectCostOfReceipt(developer, transcript);
    const [sent, written] = await jsonOf(page, transcript);
    expect(JSON.parse(sent)).toMatchObject({ file: { file: 'fox.mp3', content_type: 'audio/mpeg' } });
    expect(JSON.parse(written)).toMatchObject({ text: 'The quick brown fox' });
    const download = page.waitForEvent('download');
    await transcript.getByRole('button', { name: 'SRT' }).click();
    expect((await download).suggestedFilename()).toBe('fox.srt');
    await pictures(user, 'playground-transcription');
    await user.close();
  });

  it('keeps a picture whose tab is left, also while it is made, and forgets it when the page is loaded again', async () => {
    const { developer, user, page } = await visit('image');
    const picture = page.getByRole('img', { name: 'A lighthouse' });
    const width = () => picture.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth));
    await page.getByLabel('Prompt').fill('A lighthouse');
    await page.getByLabel('Size').selectOption('256x256');
    await page.getByRole('button', { name: 'Generate image' }).click();
    await page.getByRole('link', { name: 'Chat', exact: true }).click();
    await page.getByLabel('Message', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Image', exact: true }).click();
    await picture.waitFor();
    expect(await width()).toBe(256);
    const cost = await expectCostOfReceipt(developer, page.getByRole('figure'));
    await page.getByText('Spent on this page').getByTitle(`${cost} micro-dollars`).waitFor();

    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    await page.goBack();
    await picture.waitFor();
    expect(await width()).toBe(256);
    await page.reload();
    await page.getByText('No image yet').waitFor();
    await user.close();
  });

  it('marks an answer of another deployment as a fallback, as its receipt does', async () => {
    upstream.answer = (response, { body }) => {
      if ((JSON.parse(body) as { model: string }).model === 'one') {
        response.writeHead(503, { 'content-type': 'application/json' });
        response.end('{}');
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`${chunk({ content: 'Here.' })}${chunk({}, 'stop')}${usageChunk(1, 1)}data: [DONE]\n\n`);
    };
    const { developer, user, page } = await visit('chat');
    await choose(page, 'Model').selectOption('local/four');
    await page.getByLabel('Message', { exact: true }).fill('Are you there?');
    await page.getByRole('button', { name: 'Send' }).click();
    const answer = page.getByRole('article');
    const mark = answer.getByText(/^Fallback after \d failed calls?$/);
    await mark.waitFor();
    const { attempts } = await receiptOf(developer, answer);
    expect(await mark.innerText()).toContain(` ${attempts.length - 1} failed`);
    await pictures(user, 'playground-fallback');
    await page.reload();
    await mark.waitFor();
    await user.close();
  });

  it('makes one job of a double click, follows it to its result, and cancels another', async () => {
    const { developer, user, page } = await visit('video');
    await page.getByLabel('Prompt').fill('A boat [[mock: run=60s]]');
    await page.getByLabel('Seconds').fill('1');
    await page.getByText('is held until the cost is known').waitFor();
    await page.getByRole('button', { name: 'Generate video' }).dblclick();
    await page.getByRole('progressbar').waitFor();
    await until('its start', 60_000, async () => (await endMockMediaJobs(jobsOfProvider())) > 0);
    await page.getByLabel('Result 1').waitFor();
    const jobs = async (): Promise<ReadonlyArray<{ status: string }>> =>
      (await developer.call(developer.path('/jobs'))).json.data;
    expect((await jobs()).map(({ status }) => status)).toEqual(['succeeded']);
    expect(JSON.parse((await jsonOf(page, page.locator('main')))[1])).toMatchObject({ status: 'queued' });
    await pictures(user, 'playground-video');

    await page.getByLabel('Prompt').fill('Another boat [[mock: run=60s]]');
    await page.getByRole('button', { name: 'Generate video' }).click();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByText('canceled', { exact: true }).waitFor();
    expect((await jobs()).map(({ status }) => status)).toEqual(['canceled', 'succeeded']);
    const { json: balance } = await developer.call(developer.path('/billing/balance'));
    expect(balance.reserved_micro).toBe(0);
    await user.close();
  });

  it('shows code to viewers, and why a request is refused to developers without credit', async () => {
    const viewer = await gateway.dashboardUser({ role: 'viewer' });
    const reader = await BrowserUser.signedIn(gateway, viewer);
    await reader.page.goto(`/dashboard/o/${viewer.organizationId}/playground/chat`);
    await reader.page.getByRole('region', { name: 'curl code' }).getByText('/v1/chat/completions').waitFor();
    await reader.close();

    const poor = await gateway.dashboardUser({ role: 'developer' });
    const user = await BrowserUser.signedIn(gateway, poor);
    user.expectFailure(/^POST \/v1\/chat\/completions 402$/);
    await user.page.goto(`/dashboard/o/${poor.organizationId}/playground/chat`);
    await user.page.getByLabel('Message', { exact: true }).fill('Hello');
    await user.page.getByRole('button', { name: 'Send' }).click();
    await user.page.getByText('insufficient_credits').waitFor();
    expect(JSON.parse((await jsonOf(user.page, user.page.getByRole('article')))[1])).toMatchObject({
      error: { code: 'insufficient_credits' },
    });
    await user.page.getByRole('link', { name: 'Balance and budgets' }).waitFor();
    await user.close();
  });

  /** An `mp3` file whose words the mock transcription knows. */
  async function spoken(input: string): Promise<Buffer> {
    const { key } = await gateway.customer();
    const body = { model: 'mock/speech-1', input, voice: 'alloy' };
    return (await gateway.call('/v1/audio/speech', { key, body })).bytes;
  }
});

function choose(page: Page, name: string): Locator {
  return page.getByRole('combobox', { name, exact: true });
}
