import { Readable } from 'node:stream';
import { laneOf } from '../../../src/media-jobs/job-lane';
import type { DuePoll, MediaJob } from '../../../src/media-jobs/media-job.types';
import { until } from '../../faults/figures';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { makeTestVideo } from '../../harness/media-files';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import { finish, type JobEngine, letExpire, letPass, requireJob, startJobEngine, submit } from './job-engine';
import { CAPABLE, failure, RUNNING, ScriptedProvider, type StageSettings, SUCCESS, WorkerStage } from './worker-stage';

describe('job runner', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let account: Account;
  let video: Buffer;
  let stage: WorkerStage;
  let provider: ScriptedProvider;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
    video = await makeTestVideo();
  });
  beforeEach(async () => {
    account = await createAccount(engine.money.pool);
    await begin();
  });
  afterEach(async () => {
    await stage.close();
    await requireSoundBooks(engine.money);
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  async function begin(settings: StageSettings = {}): Promise<void> {
    await stage?.close();
    stage = new WorkerStage(engine, ['first'], settings);
    provider = new ScriptedProvider('first', video);
    stage.adapters.set('first', provider.adapter);
  }
  const submitted = async () => stage.step(await submit(engine, account, { route: ['first'] }));

  it('ignores the poll result of a worker that lost its lease', async () => {
    const other = new WorkerStage(engine, ['first']);
    const otherProvider = new ScriptedProvider('first', video);
    other.adapters.set('first', otherProvider.adapter);
    const job = await submitted();
    provider.onPoll = async () => {
      await stage.loseWorker(job);
      await other.step(job);
      return SUCCESS;
    };
    const ended = await stage.step(job);
    expect(ended).toMatchObject({ status: 'succeeded', costMicro: 400n });
    expect([provider.opened, otherProvider.opened]).toEqual([0, 1]);
    expect(await engine.jobs.findArtifacts(job)).toHaveLength(1);
    await other.close();
  });

  it('does not end a job whose lease was lost during the download', async () => {
    const job = await submitted();
    provider.onOpen = async () => {
      await engine.work.claim(await stage.loseWorker(job), 'another');
      return Readable.from([video]);
    };
    expect(await stage.step(job)).toMatchObject({ status: 'running', fence: 3, costMicro: 0n });
    await letPass(engine, job.id, 61);
    provider.onOpen = () => Promise.resolve(Readable.from([video]));
    expect(await stage.step(job)).toMatchObject({ status: 'succeeded', costMicro: 400n });
  });

  it('reads the price of several jobs once', async () => {
    provider.onPoll = () => Promise.resolve(SUCCESS);
    const ended = [await stage.step(await submitted()), await stage.step(await submitted())];
    expect([ended.map(({ costMicro }) => costMicro), stage.priceReads]).toEqual([[400n, 400n], 1]);
  });

  describe('a poll by the process that polled the job last', () => {
    beforeEach(() => {
      provider.capabilities = { ...CAPABLE, pollMs: [0, 0] };
      provider.onPoll = () => Promise.resolve(RUNNING);
      stage.adapters.set('first', provider.adapter);
    });

    /** A job that this process has polled once, and its next poll. */
    async function polled() {
      const job = await stage.step(await submitted());
      const poll = stage.runner.takeUpcomingPoll(job.id);
      expect(poll).toMatchObject({ version: job.version, lane: laneOf(job), job: { polls: job.polls } });
      return { job, poll: poll as DuePoll };
    }
    const reread = (job: MediaJob) => requireJob(engine, job.id, job);

    it('follows its submission without reading its row', async () => {
      const job = await submitted();
      const poll = stage.runner.takeUpcomingPoll(job.id);
      expect(poll).toMatchObject({ version: job.version, lane: laneOf(job), job: { polls: 0, handle: job.handle } });
      expect(await stage.runner.begin(poll as DuePoll)).toEqual({ inMs: 0, version: job.version + 1 });
      expect(await reread(job)).toMatchObject({ status: 'running', polls: 1, fence: job.fence });
    });

    it('that finds it running is one write, without a claim, and the next one can follow', async () => {
      const { job, poll } = await polled();
      provider.onPoll = () => Promise.resolve({ state: 'running', progress: 70 });
      expect(await stage.runner.begin(poll)).toEqual({ inMs: 0, version: job.version + 1 });
      const { fence, version, polls } = job;
      const changed = { status: 'running', progress: 70, fence, version: version + 1, polls: polls + 1 };
      expect(await reread(job)).toMatchObject(changed);
      expect(await stage.runner.begin(stage.runner.takeUpcomingPoll(job.id) as DuePoll)).toMatchObject({
        version: version + 2,
      });
    });

    it('that finds it finished claims it and ends it, with the answer that it has', async () => {
      const { job, poll } = await polled();
      provider.onPoll = () => Promise.resolve(SUCCESS);
      expect(await stage.runner.begin(poll)).toBeNull();
      expect(await reread(job)).toMatchObject({ status: 'succeeded', fence: job.fence + 1, costMicro: 400n });
      expect(provider.polls).toBe(2);
    });

    it('that fails claims it, and delays the next one', async () => {
      const { job, poll } = await polled();
      provider.onPoll = () => Promise.reject(failure('provider_timeout'));
      expect(await stage.runner.begin(poll)).toMatchObject({ inMs: 0 });
      expect(await reread(job)).toMatchObject({ status: 'running', fence: job.fence + 1, polls: job.polls + 1 });
    });

    it.each([
      ['canceled', RUNNING],
      ['canceled', SUCCESS],
      ['claimed by another worker', RUNNING],
      ['claimed by another worker', SUCCESS],
    ])('changes nothing when the job is %s meanwhile: %p', async (what, answer) => {
      const { job, poll } = await polled();
      provider.onPoll = async () => {
        if (what === 'canceled') await finish(engine, job, { status: 'canceled' });
        else await engine.work.claim(job, 'another');
        return answer;
      };
      expect(await stage.runner.begin(poll)).toBe('not-claimed');
      expect(await reread(job)).toMatchObject({ version: job.version + 1, polls: job.polls });
      expect([provider.opened, stage.runner.takeUpcomingPoll(job.id)]).toEqual([0, null]);
    });

    it('does not prolong a job that is past its deadline', async () => {
      const { job, poll } = await polled();
      provider.onPoll = async () => (await letExpire(engine, job.id), RUNNING);
      expect(await stage.runner.begin(poll)).toBe('not-claimed');
      expect(await reread(job)).toMatchObject({ version: job.version, polls: job.polls });
      await finish(engine, job, { status: 'expired' });
    });

    it('that takes long claims the job, so that no other worker polls it too', async () => {
      await begin({ options: { claimPollAfterMs: 1 } });
      provider.capabilities = { ...CAPABLE, pollMs: [0, 0] };
      provider.onPoll = () => Promise.resolve(RUNNING);
      stage.adapters.set('first', provider.adapter);
      const { job, poll } = await polled();
      const answer = Promise.withResolvers<typeof SUCCESS>();
      provider.onPoll = () => answer.promise;
      const step = stage.runner.begin(poll);
      await until('the claim', 10_000, async () => (await reread(job)).fence > job.fence);
      expect(await engine.jobs.findNextStep(job)).toBeNull();
      answer.resolve(SUCCESS);
      expect(await step).toBeNull();
      expect(await reread(job)).toMatchObject({ status: 'succeeded', fence: job.fence + 1 });
      expect(provider.polls).toBe(2);
    });

    it('stops at a shutdown and leaves the job to another worker', async () => {
      const { job, poll } = await polled();
      const started = Promise.withResolvers<void>();
      provider.onPoll = () => (started.resolve(), new Promise<never>(() => undefined));
      const step = stage.runner.begin(poll);
      await started.promise;
      await stage.runner.stop(0);
      expect(await step).toEqual({ inMs: 0, version: job.version });
      expect(await engine.work.claim(job, 'another')).toMatchObject({ status: 'running' });
    });
  });

  it('renews the lease while a step outlasts it', async () => {
    await begin({ leaseSeconds: 4 });
    const job = await submitted();
    const started = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<typeof SUCCESS>();
    provider.onPoll = () => (started.resolve(), answer.promise);
    const step = stage.step(job);
    await started.promise;
    const firstLease = await leaseOf(job);
    // Renewed three times: the first lease has expired by then.
    let lease = firstLease;
    while (lease < firstLease + 3_000) lease = await leaseOf(job);
    expect(await engine.work.claim(await requireJob(engine, job.id, job), 'another')).toBeNull();
    answer.resolve(SUCCESS);
    expect(await step).toMatchObject({ status: 'succeeded' });
  });

  async function leaseOf({ id }: MediaJob): Promise<number> {
    const statement = 'SELECT lease_until FROM media_job WHERE id = $1';
    const [row] = await engine.dataSource.query<{ lease_until: Date }[]>(statement, [id]);
    return row?.lease_until.getTime() ?? Infinity;
  }

  it('releases the job on shutdown, so that another worker continues at once', async () => {
    const job = await submitted();
    const started = Promise.withResolvers<void>();
    provider.onPoll = () => (started.resolve(), new Promise<never>(() => undefined));
    const step = stage.step(job);
    await started.promise;
    await stage.runner.stop(0);
    const left = await step;
    expect(stage.scheduled.at(-1)).toEqual({ id: job.id, inMs: 0 });
    expect(await engine.work.claim(left, 'another')).toMatchObject({ status: 'submitted' });
    expect(stage.runner.free('providers')).toBe(0);
  });

  it('runs jobs of other providers while one provider hangs', async () => {
    const quick = new ScriptedProvider('quick', video);
    const slow = new ScriptedProvider('slow', video);
    const wide = new WorkerStage(engine, ['slow', 'quick'], { concurrency: 4 });
    const hanging = Promise.withResolvers<never>();
    slow.onSubmit = () => hanging.promise;
    wide.adapters.set('slow', slow.adapter).set('quick', quick.adapter);
    const slowJobs = await Promise.all(Array.from({ length: 10 }, () => submit(engine, account, { route: ['slow'] })));
    const quickJob = await submit(engine, account, { route: ['quick'] });
    for (const { id } of slowJobs) await letPass(engine, id, 60);
    await letPass(engine, quickJob.id, 10);
    const stopSweeps = wide.startSweeps();
    const deadlineMs = performance.now() + 60_000;
    while ((await requireJob(engine, quickJob.id, quickJob)).handle === null) {
      if (performance.now() > deadlineMs) throw new Error('the quick job was starved');
    }
    // The second one may not have reached this point yet.
    expect(slow.submissions.length).toBeLessThanOrEqual(2);
    hanging.reject(failure('validation_failed', { fallback: false, upstream: { status: 400 } }));
    await stopSweeps();
    await wide.close();
  });
});
