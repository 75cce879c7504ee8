import { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { GatewayError } from '../../../src/core/errors/gateway-error';
import type { MediaJob } from '../../../src/media-jobs/media-job.types';
import type { JobHandle, JobSnapshot } from '../../../src/providers/contract/media-job';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { makeTestVideo } from '../../harness/media-files';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import { finish, type JobEngine, requireJob, startJobEngine, submit, tamper, targetAt } from './job-engine';
import { CAPABLE, failure, ScriptedProvider, SUCCESS, syncAdapter, WorkerStage } from './worker-stage';

describe('submitting a job to a provider', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let account: Account;
  let video: Buffer;
  let stage: WorkerStage;
  let first: ScriptedProvider;
  let second: ScriptedProvider;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
    video = await makeTestVideo({ seconds: 1 });
  });
  beforeEach(async () => {
    account = await createAccount(engine.money.pool);
    stage = newStage();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await stage.close();
    await requireSoundBooks(engine.money);
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  /** Two deployments, of providers `first` and `second`. */
  function newStage(options = {}): WorkerStage {
    const made = new WorkerStage(engine, ['first', 'second'], { options });
    [first, second] = [new ScriptedProvider('first', video), new ScriptedProvider('second', video)];
    show(made);
    return made;
  }
  function show(at: WorkerStage = stage): void {
    for (const provider of [first, second]) at.adapters.set(provider.id, provider.adapter);
  }
  const newJob = (route = ['first', 'second']) => submit(engine, account, { route });
  const REFUSED = { code: 'provider_error', message: expect.stringContaining('It is unknown') };

  it('commits submit_started_at before the call and the handle before the first poll', async () => {
    const job = await newJob();
    let seen: MediaJob | undefined;
    first.onSubmit = async (token) => {
      seen = await requireJob(engine, job.id, job);
      return first.handle(token);
    };
    const submitted = await stage.step(job);
    expect(seen).toMatchObject({ status: 'queued', submitStartedAt: expect.any(Date), providerToken: `${job.id}-1` });
    expect(submitted).toMatchObject({ status: 'submitted', handle: first.handle(`${job.id}-1`), provider: 'first' });
    expect([first.submissions, first.polls]).toEqual([[`${job.id}-1`], 0]);
    expect(stage.scheduled).toEqual([{ id: job.id, inMs: expect.any(Number) }]);
    expect(Math.abs((stage.scheduled[0]?.inMs ?? 0) - 2_000)).toBeLessThanOrEqual(200);
  });

  it('fails over to the next provider after a definite refusal', async () => {
    first.onSubmit = () => Promise.reject(failure('provider_unavailable', { phase: 'connect' }));
    const job = await newJob();
    expect(await stage.step(job)).toMatchObject({ status: 'queued', submitStartedAt: null, handle: null });
    expect(await stage.step(job)).toMatchObject({ status: 'submitted', provider: 'second', submissions: 2 });
    expect(await stage.work(job)).toMatchObject({ status: 'succeeded' });
  });

  it('pauses with growing delays after the last provider and fails when none accepts in time', async () => {
    const refuse = () => Promise.reject(failure('provider_unavailable', { phase: 'connect' }));
    [first.onSubmit, second.onSubmit] = [refuse, refuse];
    const job = await newJob();
    for (let step = 0; step < 6; step++) await stage.step(job);
    const pauses = stage.scheduled.map(({ inMs }) => inMs);
    expect(pauses.filter((_, index) => index % 2 === 0)).toEqual([0, 0, 0]);
    expect(pauses[1]).toBeGreaterThan(1_000);
    expect(pauses[5]).toBeGreaterThan((pauses[1] ?? 0) * 1.5);

    await stage.close();
    const withoutWait = newStage({ maxWaitMs: 0 });
    stage = withoutWait;
    [first.onSubmit, second.onSubmit] = [refuse, refuse];
    show();
    expect(await withoutWait.work(job)).toMatchObject({ status: 'failed', error: { code: 'provider_unavailable' } });
  });

  it.each([
    ['rate limited', failure('provider_rate_limited', { upstream: { status: 429 } })],
    ['silent, but deduplicates', failure('provider_timeout')],
  ])(
    'waits for a provider that is %s, even after a worker outage that was longer than the wait',
    async (_what, error) => {
      first.onSubmit = () => Promise.reject(error);
      const job = await newJob(['first']);
      await tamper(engine, `UPDATE media_job SET created_at = created_at - interval '1 hour' WHERE id = $1`, [job.id]);
      expect(await stage.step(job)).toMatchObject({ status: 'queued', setbacks: 1, setbackSince: expect.any(Date) });
      first.onSubmit = (token) => Promise.resolve(first.handle(token));
      expect(await stage.step(job)).toMatchObject({ status: 'submitted', setbacks: 0, setbackSince: null });
    },
  );

  it('honors the Retry-After of a provider', async () => {
    first.onSubmit = () =>
      Promise.reject(failure('provider_rate_limited', { retryAfterSeconds: 40, upstream: { status: 429 } }));
    await stage.step(await newJob(['first']));
    expect(Math.abs((stage.scheduled[0]?.inMs ?? 0) - 40_000)).toBeLessThanOrEqual(4_000);
  });

  it('fails on the first provider that rejects the request as invalid', async () => {
    first.onSubmit = () => Promise.reject(failure('validation_failed', { fallback: false, upstream: { status: 400 } }));
    const job = await stage.work(await newJob());
    expect(job).toMatchObject({
      status: 'failed',
      error: { code: 'validation_failed', message: 'In words of our own.' },
      costMicro: 0n,
    });
    expect(second.submissions).toEqual([]);
  });

  it('fails when no provider supports the request', async () => {
    for (const provider of [first, second]) {
      provider.onSubmit = () => Promise.reject(failure('validation_failed', { phase: 'connect' }));
    }
    expect(await stage.work(await newJob())).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } });
  });

  it('retries an unknown outcome with the same token when the provider deduplicates', async () => {
    first.onSubmit = () => Promise.reject(failure('provider_timeout'));
    const job = await newJob();
    expect(await stage.step(job)).toMatchObject({ status: 'queued', submitStartedAt: expect.any(Date), handle: null });
    first.onSubmit = (token) => Promise.resolve(first.handle(token));
    expect(await stage.work(job)).toMatchObject({ status: 'succeeded', submissions: 1 });
    expect(first.submissions).toEqual([`${job.id}-1`, `${job.id}-1`]);
    expect(second.submissions).toEqual([]);
  });

  it('never retries an unknown outcome when the provider does not deduplicate', async () => {
    first.capabilities = { ...CAPABLE, idempotentSubmit: false };
    show();
    for (const error of [failure('provider_timeout'), failure('provider_unavailable', { upstream: { status: 503 } })]) {
      first.onSubmit = () => Promise.reject(error);
      expect(await stage.step(await newJob())).toMatchObject({ status: 'failed', error: REFUSED, costMicro: 0n });
    }
    expect([first.submissions.length, second.submissions.length]).toEqual([2, 0]);
  });

  it('retries after worker death only when the provider deduplicates', async () => {
    for (const idempotentSubmit of [true, false]) {
      first.capabilities = { ...CAPABLE, idempotentSubmit };
      show();
      const job = await newJob();
      const claimed = (await engine.work.claim(job, 'the dead')) as MediaJob;
      await engine.work.beginSubmission(claimed, targetAt('first'));
      await stage.loseWorker(job);
      expect(await stage.work(job)).toMatchObject(
        idempotentSubmit ? { status: 'succeeded', submissions: 1 } : { status: 'failed', error: REFUSED },
      );
      expect(first.submissions).toEqual(idempotentSubmit ? [`${job.id}-1`] : []);
      first.submissions.length = 0;
    }
  });

  it('cancels at the provider when the worker lost its lease and the handle is not recorded', async () => {
    first.capabilities = { ...CAPABLE, idempotentSubmit: false };
    show();
    const other = new WorkerStage(engine, ['first', 'second']);
    other.adapters.set('first', first.adapter);
    const job = await newJob();
    first.onSubmit = async (token) => {
      await stage.loseWorker(job);
      await other.step(job);
      return first.handle(token);
    };
    await stage.step(job);
    expect(await requireJob(engine, job.id, job)).toMatchObject({ status: 'failed', error: REFUSED });
    expect(first.canceled).toEqual([`of ${job.id}-1`]);
    await other.close();
  });

  it('does not cancel when only the database response to the stored handle was lost', async () => {
    first.capabilities = { ...CAPABLE, idempotentSubmit: false };
    show();
    const job = await newJob();
    loseAnswerToHandle(engine);
    expect(await stage.step(job)).toMatchObject({ status: 'submitted', handle: first.handle(`${job.id}-1`) });
    expect(first.canceled).toEqual([]);
    expect(await stage.work(job)).toMatchObject({ status: 'succeeded', submissions: 1 });
  });

  it.each([true, false])(
    'cancels at the provider when the job was removed, with provider deduplication: %s',
    async (idempotentSubmit) => {
      first.capabilities = { ...CAPABLE, idempotentSubmit };
      show();
      const job = await newJob();
      first.onSubmit = async (token) => {
        await finish(engine, job, { status: 'canceled' });
        await engine.jobs.markDeleted(job.id, job.organizationId);
        await engine.jobs.remove(job);
        return first.handle(token);
      };
      await stage.begin(job);
      expect(first.canceled).toEqual([`of ${job.id}-1`]);
    },
  );

  it('schedules a cancellation at the provider when the job was canceled during submission', async () => {
    const job = await newJob();
    first.onSubmit = async (token): Promise<JobHandle> => {
      await finish(engine, job, { status: 'canceled' });
      return first.handle(token);
    };
    expect(await stage.step(job)).toMatchObject({ status: 'canceled', handle: first.handle(`${job.id}-1`) });
    expect(await engine.jobs.claimCancellations(100)).toMatchObject([{ job: { id: job.id } }]);
    await engine.jobs.endCancellation(job);
    expect([first.submissions.length, first.polls]).toEqual([1, 0]);
  });

  describe('to a synchronous provider', () => {
    const success = SUCCESS as Extract<JobSnapshot, { state: 'succeeded' }>;

    it('ends the job in the same step, even if storing takes several attempts', async () => {
      let calls = 0;
      const make = () => Promise.resolve((calls++, success));
      stage.adapters.set(
        'first',
        syncAdapter(make, () => Readable.from([video])),
      );
      stage.storage.failures = 1;
      const job = await stage.step(await newJob());
      expect(job).toMatchObject({ status: 'succeeded', costMicro: 200n, provider: 'first', submissions: 1 });
      expect([calls, stage.storage.puts]).toEqual([1, 2]);
    });

    it.each(['before', 'after'] as const)(
      'ends the job in the same step when the database fails %s the commit',
      async (moment) => {
        let calls = 0;
        const make = () => Promise.resolve((calls++, success));
        stage.adapters.set(
          'first',
          syncAdapter(make, () => Readable.from([video])),
        );
        failToFinish(engine, moment);
        const warnings = jest.spyOn(Logger.prototype, 'warn');
        expect(await stage.step(await newJob())).toMatchObject({ status: 'succeeded', costMicro: 200n });
        expect(calls).toBe(1);
        expect(warnings).not.toHaveBeenCalledWith(expect.objectContaining({ event: 'late_provider_success' }));
      },
    );

    it('is not retried after worker death or an interrupted call', async () => {
      let calls = 0;
      const make = () => (calls++, Promise.reject(failure('provider_timeout')));
      stage.adapters.set(
        'first',
        syncAdapter(make, () => Readable.from([])),
      );
      const failed = await stage.work(await newJob());
      expect(failed).toMatchObject({ status: 'failed', error: { code: 'provider_timeout' } });

      const job = await newJob();
      const claimed = (await engine.work.claim(job, 'the dead')) as MediaJob;
      await engine.work.beginSubmission(claimed, targetAt('first', 'sync'));
      await stage.loseWorker(job);
      expect(await stage.work(job)).toMatchObject({ status: 'failed', error: REFUSED });
      expect(calls).toBe(1);
    });
  });
});

const AWAY = new GatewayError('service_unavailable', 'The database is unavailable.');

/** Makes the next end of a job fail; `after` the commit, only the response is lost. */
function failToFinish({ endings }: JobEngine, moment: 'before' | 'after'): void {
  const finishJob = endings.finish.bind(endings);
  jest.spyOn(endings, 'finish').mockImplementationOnce(async (...values) => {
    if (moment === 'after') await finishJob(...values);
    throw AWAY;
  });
}

/** Stores the next handle, but loses the database's response. */
function loseAnswerToHandle({ work }: JobEngine): void {
  const storeHandle = work.storeHandle.bind(work);
  jest.spyOn(work, 'storeHandle').mockImplementationOnce(async (...values) => {
    await storeHandle(...values);
    throw AWAY;
  });
}
