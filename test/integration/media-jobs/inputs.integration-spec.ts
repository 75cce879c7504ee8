import type { MediaJob } from '../../../src/media-jobs/media-job.types';
import { until } from '../../faults/figures';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { PIXEL, PublicHost, respondWith } from '../../harness/public-host';
import { makeTestVideo } from '../../harness/media-files';
import { type Account, createAccount } from '../billing/money-engine';
import { type JobEngine, letPass, requireJob, startJobEngine, submit } from './job-engine';
import { deleteCanceled, failure, ScriptedProvider, storedKeys, WorkerStage } from './worker-stage';

const CONCURRENCY = 8;
const FOREVER_MS = 3_600_000;
const WITHIN_MS = 60_000;

describe('the images of a video job', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let host: PublicHost;
  let stage: WorkerStage;
  let provider: ScriptedProvider;

  beforeAll(async () => {
    [database, host] = await Promise.all([createTestDatabase(), PublicHost.start()]);
    engine = await startJobEngine(database.url);
  });
  beforeEach(async () => {
    host.seen.length = 0;
    host.answer = (response, { url }) => {
      if (!url.startsWith('/hang')) respondWith(response, PIXEL);
    };
    stage = new WorkerStage(engine, ['first'], {
      concurrency: CONCURRENCY,
      options: { sweepMs: 50 },
      outboundLimits: { imageMs: FOREVER_MS },
    });
    const video = await makeTestVideo({ seconds: 1 });
    provider = new ScriptedProvider('first', video);
    stage.adapters.set('first', provider.adapter);
  });
  afterEach(() => stage.close());
  afterAll(async () => {
    await host.stop();
    await engine.close();
    await database.drop();
  });

  /** A job that has been due for a minute. */
  async function dueJob(account: Account, params: Record<string, unknown> = {}): Promise<MediaJob> {
    const job = await submit(engine, account, { route: ['first'], params: { prompt: 'a boat', ...params } });
    await letPass(engine, job.id, 60);
    return job;
  }
  const current = (job: MediaJob): Promise<MediaJob> => requireJob(engine, job.id, job);
  const isSubmitted = async (job: MediaJob): Promise<boolean> => (await current(job)).handle !== null;

  it('on a hanging host delay no other organization, and concurrent fetches are bounded', async () => {
    const [hanging, quick] = [await createAccount(engine.money.pool), await createAccount(engine.money.pool)];
    const stuck: MediaJob[] = [];
    for (let n = 0; n < 3 * CONCURRENCY; n++) {
      stuck.push(await dueJob(hanging, { image_url: host.url(`/hang/${n}`) }));
    }
    const stopSweeps = stage.startSweeps();
    await until('the hanging fetches', WITHIN_MS, () => host.seen.length >= CONCURRENCY / 2);
    const plain = await dueJob(quick);
    const illustrated = await dueJob(quick, { image_url: host.url('/first'), input_images: [host.url('/reference')] });
    await until('the job without images', WITHIN_MS, () => isSubmitted(plain));
    await until('the job with images', WITHIN_MS, () => isSubmitted(illustrated));
    expect(host.seen.filter(({ url }) => url.startsWith('/hang'))).toHaveLength(CONCURRENCY / 2);
    expect(provider.submissions).toHaveLength(2);

    // A process that shuts down releases them: the fetches had no result.
    await Promise.all([stopSweeps(), stage.runner.stop(0)]);
    for (const job of stuck) expect(await current(job)).toMatchObject({ status: 'queued', error: null });
  });

  it('are fetched once and sent unchanged with every submission', async () => {
    const account = await createAccount(engine.money.pool);
    const job = await dueJob(account, { image_url: host.url('/first'), input_images: [host.url('/reference')] });
    provider.onSubmit = () => Promise.reject(failure('provider_unavailable', { upstream: { status: 502 } }));
    await stage.step(job);
    expect(await current(job)).toMatchObject({
      inputTypes: { image_url: 'image/png', 'input_images[0]': 'image/png' },
    });
    await stage.step(job);
    await stage.step(job);
    const image = { bytes: PIXEL, contentType: 'image/png' };
    const shown = expect.objectContaining({ firstFrame: image, lastFrame: null, references: [image] });
    expect(provider.specs).toEqual([shown, shown]);
    expect(host.seen).toHaveLength(2);
  });

  it('are deleted when they arrive after their job was canceled and deleted', async () => {
    const answer = Promise.withResolvers<() => void>();
    host.answer = (response) => answer.resolve(() => respondWith(response, PIXEL));
    const job = await dueJob(await createAccount(engine.money.pool), { image_url: host.url('/first') });
    const step = stage.begin(job);
    const send = await answer.promise;
    await deleteCanceled(engine, stage.removal, job);
    send();
    await step;
    expect(await storedKeys(engine, job)).toEqual([]);
  });

  it('fail the job before any submission when they are not images', async () => {
    host.answer = (response) => respondWith(response, Buffer.from('no image'));
    const job = await dueJob(await createAccount(engine.money.pool), { end_image_url: host.url('/last') });
    expect(await stage.step(job)).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } });
    expect(provider.submissions).toEqual([]);
  });

  it('fail the job before any submission, and are named in its error, when they are no longer stored', async () => {
    const job = await dueJob(await createAccount(engine.money.pool), { input_images: [host.url('/reference')] });
    const fetched = await stage.step(job);
    for (const key of await storedKeys(engine, job)) await stage.storage.asStorage().delete(key);
    expect(await stage.step(fetched)).toMatchObject({
      status: 'failed',
      error: { code: 'validation_failed', message: 'input_images[0] is no longer stored. Submit the job again.' },
    });
    expect(provider.submissions).toEqual([]);
  });

  it('wait for memory, for their download and their submission, and leave room for other organizations', async () => {
    await stage.close();
    stage = new WorkerStage(engine, ['first'], { maxBufferedBytes: 8 * PIXEL.length });
    stage.adapters.set('first', provider.adapter);
    const [busy, other] = [await createAccount(engine.money.pool), await createAccount(engine.money.pool)];
    const illustrated = async (account: Account, images: number): Promise<MediaJob> =>
      dueJob(account, { input_images: Array.from({ length: images }, () => host.url('/reference')) });
    const held = await stage.step(await illustrated(busy, 1));
    const second = await stage.step(await illustrated(busy, 1));
    const quick = await stage.step(await illustrated(other, 1));
    const accepted = Promise.withResolvers<void>();
    provider.onSubmit = async (token) => {
      await accepted.promise;
      return provider.handle(token);
    };
    const holding = stage.step(held);
    await until('the submission that holds half of it', WITHIN_MS, () => provider.submissions.length === 1);

    expect(await stage.step(second)).toMatchObject({ status: 'queued', submissions: 0 });
    const large = await illustrated(busy, 4);
    expect(await stage.step(large)).toMatchObject({ status: 'queued', inputTypes: null, error: null });
    expect(stage.scheduled.at(-1)?.inMs).toBeGreaterThanOrEqual(500);
    const submitting = stage.step(quick);
    await until('the other organization', WITHIN_MS, () => provider.submissions.length === 2);

    accepted.resolve();
    await Promise.all([holding, submitting]);
    expect(await stage.step(second)).toMatchObject({ status: 'submitted' });
    expect(await stage.step(large)).toMatchObject({ inputTypes: { 'input_images[3]': 'image/png' } });
  });
});
