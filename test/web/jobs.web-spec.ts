import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { JobGateway } from '../e2e/create-video/job-gateway';
import { BrowserUser, closeBrowser, describeJourney } from '../harness/browser';
import { endMockMediaJobs } from '../harness/mock-media';
import { pictures } from '../harness/pictures';
import { PublicHost } from '../harness/public-host';

const progressOf = (page: Page): Locator => page.getByRole('progressbar', { name: 'Progress of the job' });

/** Waits until the bar has moved beyond `percent`. */
async function progressAbove(bar: Locator, percent: number): Promise<number> {
  for (;;) {
    const now = Number(await bar.getAttribute('aria-valuenow'));
    if (now > percent) return now;
  }
}

describeJourney('video and music jobs', () => {
  let served: JobGateway;
  let host: PublicHost;
  let jobsOfProvider: string;

  beforeAll(async () => {
    host = await PublicHost.start();
    host.answer = (response) => response.writeHead(204).end();
    jobsOfProvider = mkdtempSync(join(tmpdir(), 'mock-media-'));
    served = await JobGateway.start({
      WORKER: 'inline',
      OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
      MOCK_MEDIA_DIR: jobsOfProvider,
    });
  });
  afterAll(async () => {
    await closeBrowser();
    await served.stop();
    await host.stop();
    rmSync(jobsOfProvider, { recursive: true });
  });

  async function visitor(role: 'viewer' | 'owner' = 'viewer'): Promise<BrowserUser> {
    const { organizationId } = served.customer;
    return BrowserUser.signedIn(served.gateway, await served.gateway.dashboardUser({ role, organizationId }));
  }

  const jobsPath = (): string => `/dashboard/o/${served.customer.organizationId}/jobs`;

  it('explain themselves before the first one, with a command that works when pasted', async () => {
    const newcomer = await served.gateway.dashboardUser({ role: 'viewer' });
    const user = await BrowserUser.signedIn(served.gateway, newcomer);
    await user.page.goto(`/dashboard/o/${newcomer.organizationId}/jobs`);
    const command = await user.page.getByRole('region', { name: 'curl command' }).innerText();
    expect(command).toContain(`${served.gateway.url}/v1/video/generations`);
    const [, body = ''] = /-d '(.*)'/.exec(command) ?? [];
    expect((await served.createVideo(JSON.parse(body) as object)).status).toBe(202);
    await pictures(user, 'jobs-empty');
    await user.close();
  });

  it('show progress, survive a reload half way, then play for their length and name cost and webhook', async () => {
    const id = await served.submitted({
      prompt: 'A boat at sea [[mock: queued=1s run=60s]]',
      duration_seconds: 1,
      resolution: '480p',
      webhook_url: host.url('/hook'),
      metadata: { order: '7' },
    });
    const user = await visitor();
    const { page } = user;
    await page.goto(jobsPath());
    await page.getByRole('link', { name: 'video mock/video-1' }).first().click();
    await page.waitForURL(`**/jobs/${id}`);
    const bar = progressOf(page);
    const before = await progressAbove(bar, 0);
    await pictures(user, 'job-running');
    await page.reload();
    await progressAbove(bar, before);

    await endMockMediaJobs(jobsOfProvider);
    const video = page.getByLabel('Result 1');
    await video.waitFor();
    const seconds = await video.evaluate(
      (media: HTMLMediaElement) =>
        new Promise<number>((resolve, reject) => {
          media.addEventListener('ended', () => resolve(media.currentTime));
          media.addEventListener('error', () => reject(new Error('not playable')));
          media.muted = true;
          void media.play();
        }),
    );
    const { json: job } = await served.getJob(id);
    expect(seconds).toBeCloseTo(job.artifacts[0].duration_seconds as number, 1);
    await page.getByText('order').waitFor();
    await page.getByRole('link', { name: 'job.completed' }).waitFor();
    expect(await page.getByTitle(`${job.cost_micro} micro-dollars`).count()).toBeGreaterThan(0);
    await pictures(user, 'job-succeeded');
    await user.close();
  });

  it('show the sound of music, and why a job failed', async () => {
    const { json: music } = await served.createMusic({ duration_seconds: 2, format: 'wav', sample_rate: 16_000 });
    const failed = await served.submitted({ prompt: 'A storm [[mock: run=100ms fail=content]]' });
    const user = await visitor();
    const { page } = user;
    await page.goto(`${jobsPath()}/${music.id}`);
    const sound = page.getByLabel('Result 1');
    await sound.waitFor();
    const duration = await sound.evaluate(
      (media: HTMLMediaElement) =>
        new Promise<number>((resolve) => {
          if (media.readyState > 0) resolve(media.duration);
          else media.addEventListener('loadedmetadata', () => resolve(media.duration));
        }),
    );
    expect(duration).toBeCloseTo(2, 1);
    await pictures(user, 'job-music');
    await page.goto(`${jobsPath()}/${failed}`);
    await page.getByText('The job failed').waitFor();
    const { json } = await served.getJob(failed);
    await page.getByText(json.error.code as string).waitFor();
    await pictures(user, 'job-failed');
    await user.close();
  });

  it('are stopped by a developer, which releases the hold, and deleted with their results', async () => {
    const id = await served.submitted({ prompt: 'A boat [[mock: run=60s]]' });
    const user = await visitor('owner');
    const { page } = user;
    await page.goto(`${jobsPath()}/${id}`);
    await page.getByText('Held now').waitFor();
    await page.getByRole('button', { name: 'Stop job' }).click();
    await page.getByRole('button', { name: 'Stop the job' }).click();
    await page.getByText('canceled', { exact: true }).waitFor();
    const { json: balance } = await served.gateway
      .dashboardUser({ organizationId: served.customer.organizationId })
      .then((owner) => owner.call(owner.path('/billing/balance')));
    expect(balance.reserved_micro).toBe(0);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete the job' }).click();
    await page.waitForURL('**/jobs');
    expect((await served.getJob(id)).status).toBe(404);
    await user.close();

    const viewer = await visitor('viewer');
    await viewer.page.goto(jobsPath());
    await viewer.page.getByRole('link', { name: 'music mock/music-1' }).click();
    await viewer.page.getByLabel('Result 1').waitFor();
    expect(await viewer.page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await viewer.close();
  });

  it('that end while the reader decides to stop them are not deleted by the same click', async () => {
    const id = await served.submitted({ prompt: 'A boat [[mock: run=60s]]', duration_seconds: 1 });
    const user = await visitor('owner');
    user.expectFailure(/^POST .*\/cancel 409$/);
    const { page } = user;
    await page.goto(`${jobsPath()}/${id}`);
    await progressAbove(progressOf(page), 0);
    await page.getByRole('button', { name: 'Stop job' }).click();
    await endMockMediaJobs(jobsOfProvider);
    await page.getByLabel('Result 1').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Stop the job' }).click();
    await page.getByRole('alert').getByText('The job has ended.').waitFor();
    expect((await served.getJob(id)).json.status).toBe('succeeded');
    await user.close();
  });

  it('can be filtered, and the filters survive reload, Back and a new tab', async () => {
    const user = await visitor();
    const { page } = user;
    await page.goto(jobsPath());
    await page.getByLabel('Kind').selectOption('music');
    const rows = page.getByRole('region', { name: 'Jobs' }).getByRole('row');
    await page.getByRole('link', { name: 'music mock/music-1' }).waitFor();
    await page.waitForURL('**/jobs?kind=music');
    expect(await rows.count()).toBe(2);
    await page.reload();
    await page.getByRole('link', { name: 'music mock/music-1' }).waitFor();
    expect(await page.getByLabel('Kind').inputValue()).toBe('music');
    await page.goBack();
    await page.getByRole('link', { name: 'video mock/video-1' }).first().waitFor();
    await page.getByLabel('Status').selectOption('expired');
    await page.getByText('No job matches these filters').waitFor();
    await page.getByRole('button', { name: 'Show all jobs' }).click();
    await page.getByRole('link', { name: 'video mock/video-1' }).first().waitFor();
    await pictures(user, 'jobs');
    await user.close();
  });
});
