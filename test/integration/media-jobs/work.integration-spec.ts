import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { HoldSweeperService } from '../../../src/billing/ledger/hold-sweeper.service';
import type { JobWakeUp, MediaJob } from '../../../src/media-jobs/media-job.types';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import {
  deploymentOf,
  FAILED,
  finish,
  HANDLE,
  type JobEngine,
  letExpire,
  letPass,
  requireJob,
  startJobEngine,
  submit,
  SUCCEEDED,
  TARGET,
  workOn,
} from './job-engine';

describe('JobWorkRepository', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let account: Account;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
  });
  beforeEach(async () => {
    account = await createAccount(engine.money.pool);
  });
  afterEach(() => requireSoundBooks(engine.money));
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  /** Filters by this test's organization. */
  const cancellations = async () =>
    (await engine.jobs.claimCancellations(1_000)).filter(({ job }) => job.organizationId === account.organizationId);
  const reread = (job: MediaJob) => requireJob(engine, job.id, account);

  it('lets one of many workers claim, and only for the current version', async () => {
    const job = await submit(engine, account);
    const claims = await Promise.all(Array.from({ length: 20 }, (_, at) => engine.work.claim(job, `worker-${at}`)));
    const [claimed, ...others] = claims.filter((each) => each !== null);
    expect(others).toEqual([]);
    expect(claimed).toMatchObject({ fence: 1, version: 1 });
    // After the release, a duplicate wake-up is for an old version.
    const next = await engine.work.reschedule(claimed as MediaJob, 0);
    expect(await engine.work.claim(job, 'late')).toBeNull();
    expect(await engine.work.claim(claimed as MediaJob, 'late')).toBeNull();
    expect(await engine.work.claim(next as JobWakeUp, 'next')).toMatchObject({ fence: 2 });
  });

  it('lets another worker claim after the lease of 60 seconds expired', async () => {
    const lost = await workOn(engine, await submit(engine, account), 'claimed');
    await letPass(engine, lost.id, 50);
    expect(await engine.work.claim(lost, 'second')).toBeNull();
    await engine.work.renewLease(lost);
    await letPass(engine, lost.id, 50);
    expect(await engine.work.claim(lost, 'second')).toBeNull();
    await letPass(engine, lost.id, 10);
    expect(await engine.work.claim(lost, 'second')).toMatchObject({ fence: 2 });
  });

  it('refuses to claim an ended or expired job', async () => {
    const [ended, over] = [await submit(engine, account), await submit(engine, account)];
    const canceled = await finish(engine, ended, { status: 'canceled' });
    expect(await engine.work.claim(canceled as MediaJob, 'worker')).toBeNull();
    await letExpire(engine, over.id);
    expect(await engine.work.claim(over, 'worker')).toBeNull();
    await finish(engine, over, { status: 'expired' });
  });

  it('moves through every state and returns the next wake-up each time', async () => {
    const { work } = engine;
    const job = await submit(engine, account);
    let claimed = (await work.claim(job, 'worker')) as MediaJob;
    expect(await work.beginSubmission(claimed, TARGET)).toBe(`${job.id}-1`);
    expect(await reread(job)).toMatchObject({ ...without(TARGET, 'mode'), status: 'queued', submissions: 1 });

    let next = await work.storeHandle(claimed, HANDLE, 2_000);
    expect(await reread(job)).toMatchObject({
      status: 'submitted',
      handle: HANDLE,
      startedAt: expect.any(Date),
      ...next,
    });
    const { nextRunAt, startedAt } = await reread(job);
    expect(nextRunAt.getTime() - (startedAt?.getTime() ?? 0)).toBe(2_000);

    claimed = (await work.claim(next ?? job, 'worker')) as MediaJob;
    next = await work.recordPoll(claimed, { isRunning: false, progress: null }, 0);
    expect(await reread(job)).toMatchObject({ status: 'submitted', progress: null, polls: 1 });

    claimed = (await work.claim(next ?? job, 'worker')) as MediaJob;
    next = await work.recordPoll(claimed, { isRunning: true, progress: 40 }, 0);
    claimed = (await work.claim(next ?? job, 'worker')) as MediaJob;
    expect(await work.beginFinalizing(claimed)).toBe(true);
    expect(await reread(job)).toMatchObject({ status: 'running', finalizingAt: expect.any(Date) });
    expect(await finish(engine, claimed, SUCCEEDED, { fence: claimed.fence })).toMatchObject({ status: 'succeeded' });
  });

  it.each([
    [50, 30, 50],
    [50, 80.9, 80],
    [50, 250, 99],
    [50, -1, 50],
    [50, null, 50],
    [50, Number.NaN, 50],
    [null, Infinity, 99],
  ])('moves progress only forward: %p, then %p, is %p', async (first, second, shown) => {
    const job = await workOn(engine, await submit(engine, account), 'submitted');
    const next = await engine.work.recordPoll(job, { isRunning: true, progress: first }, 0);
    const claimed = (await engine.work.claim(next ?? job, 'worker')) as MediaJob;
    await engine.work.recordPoll(claimed, { isRunning: false, progress: second }, 0);
    expect(await reread(job)).toMatchObject({ status: 'running', progress: shown });
  });

  it('begins another submission only after a withdrawn one', async () => {
    const { work } = engine;
    const job = await submit(engine, account);
    const first = await workOn(engine, job, 'claimed');
    await work.beginSubmission(first, TARGET);
    // After a crash, the next worker sees that it may have been accepted.
    await letPass(engine, job.id, 61);
    const second = await workOn(engine, job, 'claimed', 'second');
    expect(second).toMatchObject({ submitStartedAt: expect.any(Date), handle: null, providerToken: `${job.id}-1` });
    expect(await work.beginSubmission(second, TARGET)).toBeNull();

    const next = await work.withdrawSubmission(second, 0);
    const third = (await work.claim(next ?? job, 'third')) as MediaJob;
    expect(await work.beginSubmission(third, { ...TARGET, deploymentId: deploymentOf('elsewhere') })).toBe(
      `${job.id}-2`,
    );
    await work.storeHandle(third, HANDLE, 0);
    const last = await workOn(engine, job, 'claimed');
    expect(await work.beginSubmission(last, TARGET)).toBeNull();
    expect(await work.withdrawSubmission(last, 0)).toBeNull();
    expect(await work.storeHandle(last, { ...HANDLE, id: 'another' }, 0)).toBeNull();
    expect(await reread(job)).toMatchObject({ deploymentId: deploymentOf('elsewhere'), handle: HANDLE });
  });

  it('marks a job as submitted during a synchronous call, and can fail over', async () => {
    const { work } = engine;
    const job = await workOn(engine, await submit(engine, account), 'claimed');
    await work.beginSubmission(job, { ...TARGET, mode: 'sync' });
    expect(await reread(job)).toMatchObject({ status: 'submitted', startedAt: expect.any(Date) });
    const next = await work.withdrawSubmission(job, 0);
    const claimed = (await work.claim(next ?? job, 'worker')) as MediaJob;
    await work.beginSubmission(claimed, { ...TARGET, mode: 'sync' });
    await work.beginFinalizing(claimed);
    expect(await finish(engine, claimed, SUCCEEDED, { fence: claimed.fence })).toMatchObject({ status: 'succeeded' });
  });

  it('allows cancellation a minute after finalizing first began, despite retries', async () => {
    const job = await workOn(engine, await submit(engine, account), 'finalizing');
    await letPass(engine, job.id, 61);
    expect(await engine.work.beginFinalizing(job)).toBe(true);
    expect(await finish(engine, job, { status: 'canceled' })).toMatchObject({ status: 'canceled' });
    await engine.jobs.endCancellation(job);
  });

  it('stores the handle of a job canceled during submission and schedules its cancellation', async () => {
    const job = await workOn(engine, await submit(engine, account), 'claimed');
    await engine.work.beginSubmission(job, TARGET);
    await finish(engine, job, { status: 'canceled' });
    expect(await cancellations()).toEqual([]);
    expect(await engine.work.storeHandle(job, HANDLE, 0)).toBeNull();
    expect(await reread(job)).toMatchObject({ status: 'canceled', handle: HANDLE, startedAt: null });
    expect(await cancellations()).toMatchObject([{ job: { id: job.id }, handle: HANDLE }]);
  });

  it('sends a cancellation at most five times with growing pauses', async () => {
    const job = await workOn(engine, await submit(engine, account), 'submitted');
    await finish(engine, job, { status: 'canceled' });
    const { jobs } = engine;
    // The row is kept for that, even if the client has deleted the job.
    await jobs.markDeleted(job.id, account.organizationId);
    const deleted = async () => (await jobs.findDeleted(1_000)).some(({ id }) => id === job.id);
    for (const waitSeconds of [0, 5, 10, 20, 40]) {
      if (waitSeconds > 0) {
        await letPass(engine, job.id, waitSeconds / 2);
        expect(await cancellations()).toEqual([]);
        await letPass(engine, job.id, waitSeconds / 2);
      }
      expect(await deleted()).toBe(false);
      expect(await jobs.remove(job)).toBe(false);
      expect(await cancellations()).toHaveLength(1);
    }
    await letPass(engine, job.id, 86_400);
    expect(await cancellations()).toEqual([]);
    expect(await deleted()).toBe(true);
  });

  it('rejects writes with an old fence', async () => {
    const { work } = engine;
    for (const state of ['claimed', 'submitted', 'running', 'finalizing'] as const) {
      const lost = await workOn(engine, await submit(engine, account), state);
      await letPass(engine, lost.id, 61);
      const job = await workOn(engine, lost, 'claimed', 'second');
      expect(await work.renewLease(lost)).toBe(false);
      expect(await work.reschedule(lost, 0)).toBeNull();
      expect(await work.beginSubmission(lost, TARGET)).toBeNull();
      expect(await work.withdrawSubmission(lost, 0)).toBeNull();
      expect(await work.storeHandle(lost, { ...HANDLE, id: 'late' }, 0)).toBeNull();
      expect(await work.recordPoll(lost, { isRunning: true, progress: 90 }, 0)).toBeNull();
      expect(await work.beginFinalizing(lost)).toBe(false);
      expect(await finish(engine, lost, SUCCEEDED, { fence: lost.fence })).toBeNull();
      expect(await finish(engine, lost, FAILED, { fence: lost.fence })).toBeNull();
      expect(await reread(job)).toEqual(job);
      await finish(engine, job, FAILED, { fence: job.fence });
    }
  });

  it('rejects writes after the job has ended', async () => {
    const { work } = engine;
    const job = await workOn(engine, await submit(engine, account), 'running');
    const ended = await finish(engine, job, { status: 'canceled' });
    expect(await work.renewLease(job)).toBe(false);
    expect(await work.reschedule(job, 0)).toBeNull();
    expect(await work.recordPoll(job, { isRunning: true, progress: 90 }, 0)).toBeNull();
    expect(await work.beginFinalizing(job)).toBe(false);
    expect(await finish(engine, job, SUCCEEDED, { fence: job.fence })).toBeNull();
    expect(await reread(job)).toEqual(ended);
    await engine.jobs.endCancellation(job);
  });

  it('claims and reads no job for another organization', async () => {
    const { id, version } = await submit(engine, account);
    const { organizationId } = await createAccount(engine.money.pool);
    expect(await engine.jobs.findNextStep({ organizationId, id })).toBeNull();
    expect(await engine.work.claim({ organizationId, id, version }, 'worker')).toBeNull();
  });

  it('finds a job due after a lost wake-up or worker death, not before', async () => {
    const isDue = async (job: MediaJob) => (await engine.jobs.findDue(1_000)).find(({ id }) => id === job.id);
    const job = await submit(engine, account);
    expect(await isDue(job)).toBeUndefined();
    await letPass(engine, job.id, 5);
    const { organizationId, id } = job;
    expect(await isDue(job)).toEqual({ organizationId, id, version: 0, lane: deploymentOf('mock') });
    const claimed = await workOn(engine, job, 'claimed');
    expect(await isDue(job)).toBeUndefined();
    await letPass(engine, job.id, 60);
    expect(await isDue(job)).toEqual({ organizationId, id, version: 1, lane: deploymentOf('mock') });
    const next = await engine.work.reschedule(claimed, 30_000);
    await letPass(engine, job.id, 30);
    expect(await isDue(job)).toBeUndefined();
    await letPass(engine, job.id, 5);
    expect(await isDue(job)).toEqual({ ...next, lane: deploymentOf('mock') });
    await finish(engine, job, FAILED);
    expect(await isDue(job)).toBeUndefined();
  });

  it('finds an expired job even while a worker holds it', async () => {
    const isExpired = async ({ id }: MediaJob) => (await engine.jobs.findExpired(1_000)).some((each) => each.id === id);
    const job = await workOn(engine, await submit(engine, account), 'running');
    expect(await isExpired(job)).toBe(false);
    await letExpire(engine, job.id);
    expect(await isExpired(job)).toBe(true);
    await finish(engine, job, { status: 'expired' });
    expect(await isExpired(job)).toBe(false);
    await engine.jobs.endCancellation(job);
  });

  it('keeps the hold of an idle job through sweeps of orphaned holds', async () => {
    const { money } = engine;
    const job = await submit(engine, account);
    await money.lease.renew();
    await money.pool.query(`UPDATE gateway_instance SET steady_since = now() - interval '1 hour'`);
    await tamperWithHold(engine, job.id);
    const sweeper = new HoldSweeperService(money.pool, money.lease, new Metrics());
    expect(await sweeper.sweep()).toBe(0);
    expect((await money.ledger.balance(account.organizationId)).reservedMicro).toBe(1_500n);
    // It is a day and an hour late, which the auditor must report.
    expect(await money.ledger.verify()).toMatchObject([
      { invariant: expect.stringMatching(/^I9 /), subject: job.id, differenceMicro: 1_500n },
    ]);
    await finish(engine, job, FAILED);
  });
});

/** The hold was to end two days earlier. */
async function tamperWithHold({ dataSource }: JobEngine, id: string): Promise<void> {
  await dataSource.transaction(async (manager) => {
    await manager.query('ALTER TABLE hold DISABLE TRIGGER USER');
    await manager.query(`UPDATE hold SET expires_at = expires_at - interval '2 days' WHERE id = $1`, [id]);
    await manager.query('ALTER TABLE hold ENABLE TRIGGER USER');
  });
}

function without<Value extends object, Name extends keyof Value>(value: Value, name: Name): Omit<Value, Name> {
  const { [name]: _left, ...rest } = value;
  return rest;
}
