import { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import { GatewayError } from '../../../src/common/errors/gateway-error';
import type { MediaJob } from '../../../src/media-jobs/media-job.types';
import type { JobHandle, JobSnapshot } from '../../../src/providers/contract/media-job';
import { makeVideo } from '../../../src/providers/vendors/mock/video/make-video';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import { finish, type JobEngine, requireJob, startJobEngine, submit } from './job-engine';
import { CAPABLE, failure, ScriptedProvider, SUCCESS, syncAdapter, WorkerStage } from './worker-stage';

describe('the submission of a job to a provider', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let account: Account;
  let film: Buffer;
  let stage: WorkerStage;
  let first: ScriptedProvider;
  let second: ScriptedProvider;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
    film = await makeVideo({ prompt: '', seconds: 1, width: 64, height: 64, audio: false, seed: 1 });
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

  /** Two deployments, of `first` and of `second`. */
  function newStage(options = {}): WorkerStage {
    const made = new WorkerStage(engine, ['first', 'second'], { options });
    [first, second] = [new ScriptedProvider('first', film), new ScriptedProvider('second', film)];
    show(made);
    return made;
  }
  function show(at: WorkerStage = stage): void {
    for (const provider of [first, second]) at.adapters.set(provider.id, provider.adapter);
  }
  const newJob = (route = ['first', 'second']) => submit(engine, account, { route });
  const REFUSED = { code: 'provider_error', message: expect.stringContaining('not known') };

  it('is committed as begun before the provider hears of it, and the handle before it is asked anything', async () => {
    const job = await newJob();
    let seen: MediaJob | undefined;
    first.onSubmit = async (token) => {
      seen = await requireJob(engine, job.id, job);
      return first.handle(token);
    };
    const submitted = await stage.turn(job);
    expect(seen).toMatchObject({ status: 'queued', submitStartedAt: expect.any(Date), providerToken: `${job.id}-1` });
    expect(submitted).toMatchObject({ status: 'submitted', handle: first.handle(`${job.id}-1`), provider: 'first' });
    expect([first.submissions, first.polls]).toEqual([[`${job.id}-1`], 0]);
    const [{ wakeUp, delayMs } = {}] = stage.woken;
    expect(wakeUp).toEqual({ id: job.id, version: submitted.version, lane: 'first' });
    expect(Math.abs((delayMs ?? 0) - 2_000)).toBeLessThanOrEqual(200);
  });

  it('goes on to the next provider when the first one surely did not accept the job', async () => {
    first.onSubmit = () => Promise.reject(failure('provider_unavailable', { phase: 'connect' }));
    const job = await newJob();
    expect(await stage.turn(job)).toMatchObject({ status: 'queued', submitStartedAt: null, handle: null });
    expect(await stage.turn(job)).toMatchObject({ status: 'submitted', provider: 'second', submissions: 2 });
    expect(await stage.work(job)).toMatchObject({ status: 'succeeded' });
  });

  it('pauses after the last provider, longer each time, and ends when nobody has accepted it in time', async () => {
    const refuse = () => Promise.reject(failure('provider_unavailable', { phase: 'connect' }));
    [first.onSubmit, second.onSubmit] = [refuse, refuse];
    const job = await newJob();
    for (let turn = 0; turn < 6; turn++) await stage.turn(job);
    const pauses = stage.woken.map(({ delayMs }) => delayMs);
    expect(pauses.filter((_, index) => index % 2 === 0)).toEqual([0, 0, 0]);
    expect(pauses[1]).toBeGreaterThan(1_000);
    expect(pauses[5]).toBeGreaterThan((pauses[1] ?? 0) * 1.5);

    await stage.close();
    const impatient = newStage({ patienceMs: 0 });
    stage = impatient;
    [first.onSubmit, second.onSubmit] = [refuse, refuse];
    show();
    expect(await impatient.work(job)).toMatchObject({ status: 'failed', error: { code: 'provider_unavailable' } });
  });

  it('waits for as long as a provider asks for', async () => {
    first.onSubmit = () =>
      Promise.reject(failure('provider_rate_limited', { retryAfterSeconds: 40, upstream: { status: 429 } }));
    await stage.turn(await newJob(['first']));
    expect(Math.abs((stage.woken[0]?.delayMs ?? 0) - 40_000)).toBeLessThanOrEqual(4_000);
  });

  it('ends with the first word of a provider that refuses what is asked for', async () => {
    first.onSubmit = () => Promise.reject(failure('validation_failed', { fallback: false, upstream: { status: 400 } }));
    const job = await stage.work(await newJob());
    expect(job).toMatchObject({
      status: 'failed',
      error: { code: 'validation_failed', message: 'In words of our own.' },
      costMicro: 0n,
    });
    expect(second.submissions).toEqual([]);
  });

  it('ends with what cannot be done anywhere', async () => {
    for (const provider of [first, second]) {
      provider.onSubmit = () => Promise.reject(failure('validation_failed', { phase: 'connect' }));
    }
    expect(await stage.work(await newJob())).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } });
  });

  it('is repeated with the same token when its outcome is not known and the provider can tell', async () => {
    first.onSubmit = () => Promise.reject(failure('provider_timeout'));
    const job = await newJob();
    expect(await stage.turn(job)).toMatchObject({ status: 'queued', submitStartedAt: expect.any(Date), handle: null });
    first.onSubmit = (token) => Promise.resolve(first.handle(token));
    expect(await stage.work(job)).toMatchObject({ status: 'succeeded', submissions: 1 });
    expect(first.submissions).toEqual([`${job.id}-1`, `${job.id}-1`]);
    expect(second.submissions).toEqual([]);
  });

  it('is never repeated when its outcome is not known and the provider cannot tell', async () => {
    first.capabilities = { ...CAPABLE, idempotentSubmit: false };
    show();
    for (const error of [failure('provider_timeout'), failure('provider_unavailable', { upstream: { status: 503 } })]) {
      first.onSubmit = () => Promise.reject(error);
      expect(await stage.turn(await newJob())).toMatchObject({ status: 'failed', error: REFUSED, costMicro: 0n });
    }
    expect([first.submissions.length, second.submissions.length]).toEqual([2, 0]);
  });

  it('is repeated after the death of its worker where the provider can tell, and nowhere else', async () => {
    for (const idempotentSubmit of [true, false]) {
      first.capabilities = { ...CAPABLE, idempotentSubmit };
      show();
      const job = await newJob();
      const claimed = (await engine.work.claim(job, 'the dead')) as MediaJob;
      const place = { provider: 'first', deploymentId: 'first', priceVersionId: 'price-1', mode: 'async' } as const;
      await engine.work.beginSubmission(claimed, place);
      await stage.loseWorker(job);
      expect(await stage.work(job)).toMatchObject(
        idempotentSubmit ? { status: 'succeeded', submissions: 1 } : { status: 'failed', error: REFUSED },
      );
      expect(first.submissions).toEqual(idempotentSubmit ? [`${job.id}-1`] : []);
      first.submissions.length = 0;
    }
  });

  it('is called off by the worker that has lost the job in the meantime, since nobody else knows of it', async () => {
    first.capabilities = { ...CAPABLE, idempotentSubmit: false };
    show();
    const other = new WorkerStage(engine, ['first', 'second']);
    other.adapters.set('first', first.adapter);
    const job = await newJob();
    first.onSubmit = async (token) => {
      await stage.loseWorker(job);
      await other.turn(job);
      return first.handle(token);
    };
    await stage.turn(job);
    expect(await requireJob(engine, job.id, job)).toMatchObject({ status: 'failed', error: REFUSED });
    expect(first.canceled).toEqual([`of ${job.id}-1`]);
    await other.close();
  });

  it('is not called off when only the answer of the database to its handle was lost', async () => {
    first.capabilities = { ...CAPABLE, idempotentSubmit: false };
    show();
    const job = await newJob();
    loseAnswerToHandle(engine);
    expect(await stage.turn(job)).toMatchObject({ status: 'submitted', handle: first.handle(`${job.id}-1`) });
    expect(first.canceled).toEqual([]);
    expect(await stage.work(job)).toMatchObject({ status: 'succeeded', submissions: 1 });
  });

  it.each([true, false])(
    'is called off by the worker when nothing is left of the job, its provider telling repetitions: %s',
    async (idempotentSubmit) => {
      first.capabilities = { ...CAPABLE, idempotentSubmit };
      show();
      const job = await newJob();
      first.onSubmit = async (token) => {
        await finish(engine, job, { status: 'canceled' });
        await engine.jobs.markDeleted(job.id, job.organizationId);
        await engine.jobs.remove(job.id);
        return first.handle(token);
      };
      await stage.begin(job);
      expect(first.canceled).toEqual([`of ${job.id}-1`]);
    },
  );

  it('leads to a cancellation at the provider when the job was canceled during it', async () => {
    const job = await newJob();
    first.onSubmit = async (token): Promise<JobHandle> => {
      await finish(engine, job, { status: 'canceled' });
      return first.handle(token);
    };
    expect(await stage.turn(job)).toMatchObject({ status: 'canceled', handle: first.handle(`${job.id}-1`) });
    expect(await engine.jobs.claimCancellations(100)).toMatchObject([{ job: { id: job.id } }]);
    await engine.jobs.endCancellation(job.id);
    expect([first.submissions.length, first.polls]).toEqual([1, 0]);
  });

  describe('that answers with the result', () => {
    const success = SUCCESS as Extract<JobSnapshot, { state: 'succeeded' }>;

    it('ends in the same turn, even if storing takes several tries', async () => {
      let calls = 0;
      const make = () => Promise.resolve((calls++, success));
      stage.adapters.set(
        'first',
        syncAdapter(make, () => Readable.from([film])),
      );
      stage.storage.failures = 1;
      const job = await stage.turn(await newJob());
      expect(job).toMatchObject({ status: 'succeeded', costMicro: 200n, provider: 'first', submissions: 1 });
      expect([calls, stage.storage.puts]).toEqual([1, 2]);
    });

    it.each(['before', 'after'] as const)(
      'ends in the same turn if the database fails %s its commit',
      async (moment) => {
        let calls = 0;
        const make = () => Promise.resolve((calls++, success));
        stage.adapters.set(
          'first',
          syncAdapter(make, () => Readable.from([film])),
        );
        failToFinish(engine, moment);
        const warnings = jest.spyOn(Logger.prototype, 'warn');
        expect(await stage.turn(await newJob())).toMatchObject({ status: 'succeeded', costMicro: 200n });
        expect(calls).toBe(1);
        expect(warnings).not.toHaveBeenCalledWith(expect.objectContaining({ event: 'late_provider_success' }));
      },
    );

    it('is not repeated after the death of its worker, nor after a failure in its midst', async () => {
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
      const place = { provider: 'first', deploymentId: 'first', priceVersionId: 'price-1', mode: 'sync' } as const;
      await engine.work.beginSubmission(claimed, place);
      await stage.loseWorker(job);
      expect(await stage.work(job)).toMatchObject({ status: 'failed', error: REFUSED });
      expect(calls).toBe(1);
    });
  });
});

const AWAY = new GatewayError('service_unavailable', 'The database is away.');

/** The next end of a job fails; where that is `after` its commit, only the answer was lost. */
function failToFinish({ endings }: JobEngine, moment: 'before' | 'after'): void {
  const finishJob = endings.finish.bind(endings);
  jest.spyOn(endings, 'finish').mockImplementationOnce(async (...values) => {
    if (moment === 'after') await finishJob(...values);
    throw AWAY;
  });
}

/** The next handle is stored, and the worker does not hear of it. */
function loseAnswerToHandle({ work }: JobEngine): void {
  const storeHandle = work.storeHandle.bind(work);
  jest.spyOn(work, 'storeHandle').mockImplementationOnce(async (...values) => {
    await storeHandle(...values);
    throw AWAY;
  });
}
