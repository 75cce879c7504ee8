import { statesBefore, TRANSITIONS } from '../../../src/media-jobs/media-job.states';
import type { JobEnding, MediaJob } from '../../../src/media-jobs/media-job.types';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import {
  ARTIFACT,
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
  tamper,
  TARGET,
  workOn,
} from './job-engine';

const RACES = 500;
/** Concurrent races: more would only wait for each other. */
const AT_ONCE = 50;

const CANCELED: JobEnding = { status: 'canceled' };
const EXPIRED: JobEnding = { status: 'expired' };

describe('ending a job', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let other: JobEngine;
  let account: Account;

  beforeAll(async () => {
    database = await createTestDatabase();
    [engine, other] = await Promise.all([startJobEngine(database.url), startJobEngine(database.url)]);
  });
  beforeEach(async () => {
    account = await createAccount(engine.money.pool, { balanceMicro: 10_000_000n });
  });
  afterEach(() => requireSoundBooks(engine.money));
  afterAll(async () => {
    await Promise.all([engine.close(), other.close()]);
    await database.drop();
  });

  const balance = () => engine.money.ledger.balance(account.organizationId);
  const hook = { webhookUrl: 'https://example.com/hook' };
  const query = <Row extends object>(text: string, ...values: unknown[]) =>
    engine.dataSource.query<Row[]>(text, values);
  const holdOf = async (job: MediaJob) => {
    const [row] = await query<{ state: string; charged: string | null }>(
      'SELECT state, charged_micro::text AS charged FROM reservation WHERE id = $1',
      job.id,
    );
    return row;
  };
  /** Filters by this test's organization. */
  const cancellations = async () =>
    (await engine.jobs.claimCancellations(1_000)).filter(({ job }) => job.organizationId === account.organizationId);
  const eventsOf = async (job: MediaJob) =>
    (await query<{ event: string }>('SELECT event FROM webhook_delivery WHERE job_id = $1', job.id)).map(
      ({ event }) => event,
    );

  it('charges a success and stores artifacts, receipt and webhook delivery with it', async () => {
    const job = await workOn(engine, await submit(engine, account, hook), 'finalizing');
    const ended = await finish(engine, job, SUCCEEDED, { fence: job.fence });
    expect(ended).toMatchObject({ status: 'succeeded', costMicro: 1_000n, progress: 100, error: null });
    expect(await requireJob(engine, job.id, account)).toEqual(ended);
    const objects = (retention: string) =>
      query(
        `INSERT INTO stored_object (key, organization_id, kind, delete_at, sweep_after)
         VALUES ($1, $2, 'video', now() + $3::interval, now())
         ON CONFLICT (key) DO UPDATE SET delete_at = excluded.delete_at`,
        ARTIFACT.storageKey,
        account.organizationId,
        retention,
      );
    await objects('1 minute');
    expect(await engine.jobs.findArtifacts(job)).toEqual([
      { ...ARTIFACT, id: expect.any(String), keptUntil: expect.any(Date) },
    ]);
    await objects('-1 second');
    expect(await engine.jobs.findArtifacts(job)).toEqual([]);
    expect(await eventsOf(job)).toEqual(['job.completed']);
    expect(await holdOf(job)).toEqual({ state: 'settled', charged: '1000' });
    expect(await balance()).toMatchObject({ balanceMicro: 9_999_000n, reservedMicro: 0n });
    expect(await query('SELECT * FROM usage_record WHERE id = $1', job.id)).toMatchObject([
      {
        organization_id: account.organizationId,
        key_id: account.keyId,
        operation: 'createVideo',
        model: 'mock/video-1',
        provider: 'mock',
        deployment_uuid: TARGET.deploymentId,
        price_version_uuid: TARGET.priceVersionId,
        hold_micro: '1500',
        charged_micro: '1000',
        status: 200,
        attempts: 1,
        seconds: 5,
      },
    ]);
  });

  it('removes the rows of deleted files and keeps the job', async () => {
    const files = ['kept', 'gone-1', 'gone-2', 'gone-3', 'fresh'].map((name) => ({ ...ARTIFACT, storageKey: name }));
    const job = await workOn(engine, await submit(engine, account), 'finalizing');
    await finish(engine, job, { ...SUCCEEDED, artifacts: files } as JobEnding, { fence: job.fence });
    await query(
      `UPDATE media_artifact SET created_at = now() - interval '169 hours' WHERE job_id = $1 AND storage_key <> 'fresh'`,
      job.id,
    );
    await query(
      `INSERT INTO stored_object (key, organization_id, kind, delete_at, sweep_after)
       VALUES ('kept', $1, 'video', now() - interval '1 hour', now())`,
      account.organizationId,
    );
    const before = await requireJob(engine, job.id, account);
    const left = async () =>
      (
        await query<{ key: string }>(
          'SELECT storage_key AS key FROM media_artifact WHERE job_id = $1 ORDER BY position',
          job.id,
        )
      ).map(({ key }) => key);
    expect(await engine.jobs.removeLostArtifacts(168, 2)).toBe(2);
    expect(await left()).toHaveLength(3);
    expect(await engine.jobs.removeLostArtifacts(168, 2)).toBe(1);
    // Files not yet deleted keep their rows, and younger rows are skipped.
    expect(await left()).toEqual(['kept', 'fresh']);
    expect(await requireJob(engine, job.id, account)).toEqual(before);
  });

  it('charges between zero and the hold', async () => {
    const cost = async (costMicro: bigint) => {
      const job = await workOn(engine, await submit(engine, account), 'finalizing');
      return (await finish(engine, job, { ...SUCCEEDED, costMicro } as JobEnding))?.costMicro;
    };
    expect(await cost(1_500n)).toBe(1_500n);
    expect(await cost(1_501n)).toBe(1_500n);
    expect(await cost(-1n)).toBe(0n);
    expect((await balance()).balanceMicro).toBe(9_997_000n);
  });

  const endings: readonly (readonly [status: string, ending: JobEnding, receiptStatus: number])[] = [
    ['succeeded', SUCCEEDED, 200],
    ['failed', FAILED, 502],
    ['canceled', CANCELED, 499],
    ['expired', EXPIRED, 504],
  ];

  it.each(endings)(
    'ends the hold and queues the webhook as the state machine defines: %s',
    async (_status, ending, receiptStatus) => {
      const transition = TRANSITIONS.find(({ to }) => to === ending.status);
      const silent = await workOn(engine, await submit(engine, account), 'running');
      const notified = await workOn(engine, await submit(engine, account, hook), 'running');
      for (const job of [silent, notified]) {
        if (ending.status === 'succeeded') await engine.work.beginFinalizing(job);
        if (ending.status === 'expired') await letExpire(engine, job.id);
        expect(await finish(engine, job, ending)).toMatchObject({ status: ending.status });
        expect((await holdOf(job))?.state).toBe(transition?.hold);
      }
      expect(await eventsOf(silent)).toEqual([]);
      expect(await eventsOf(notified)).toEqual(transition?.event === undefined ? [] : [transition.event]);
      expect((await balance()).reservedMicro).toBe(0n);
      expect(await query('SELECT status FROM usage_record WHERE id = $1', notified.id)).toEqual([
        { status: receiptStatus },
      ]);
    },
  );

  it('is possible from exactly the source states of the state machine', async () => {
    for (const [, ending] of endings) {
      for (const status of ['queued', 'submitted', 'running'] as const) {
        const queued = await submit(engine, account);
        const job = status === 'queued' ? queued : await workOn(engine, queued, status);
        if (ending.status === 'expired') await letExpire(engine, job.id);
        // A faulty worker: finalizing is recorded in any state.
        if (ending.status === 'succeeded')
          await query('UPDATE media_job SET finalizing_at = now() WHERE id = $1', job.id);
        const ended = await finish(engine, job, ending);
        expect([ending.status, status, ended !== null]).toEqual([
          ending.status,
          status,
          statesBefore(ending.status).includes(status),
        ]);
        await finish(engine, job, FAILED);
      }
    }
  });

  it('refuses success before finalizing and expiry before the deadline', async () => {
    const job = await workOn(engine, await submit(engine, account), 'running');
    expect(await finish(engine, job, SUCCEEDED)).toBeNull();
    expect(await finish(engine, job, EXPIRED)).toBeNull();
    expect(await requireJob(engine, job.id, account)).toEqual(job);
    await finish(engine, job, FAILED);
  });

  it('refuses cancellation for 60 seconds while the result is fetched', async () => {
    const job = await workOn(engine, await submit(engine, account), 'finalizing');
    expect(await finish(engine, job, CANCELED)).toBeNull();
    await letPass(engine, job.id, 50);
    expect(await finish(engine, job, CANCELED)).toBeNull();
    await letPass(engine, job.id, 10);
    expect(await finish(engine, job, CANCELED)).toMatchObject({ status: 'canceled' });
  });

  it('refuses an end for an old version', async () => {
    const queued = await submit(engine, account);
    const claimed = await workOn(engine, queued, 'claimed');
    expect(await finish(engine, queued, CANCELED, { version: queued.version })).toBeNull();
    expect(await finish(engine, claimed, CANCELED, { version: claimed.version })).toMatchObject({ status: 'canceled' });
  });

  it('schedules a provider cancellation only for canceled or expired jobs at a provider', async () => {
    const [early, late] = [await submit(engine, account), await submit(engine, account)];
    const succeeded = await workOn(engine, await submit(engine, account), 'finalizing');
    await finish(engine, early, CANCELED);
    await finish(engine, await workOn(engine, late, 'submitted'), CANCELED);
    await finish(engine, succeeded, SUCCEEDED);
    const due = await cancellations();
    expect(due).toMatchObject([{ job: { id: late.id }, handle: HANDLE }]);
    await engine.jobs.endCancellation(late);
    await letPass(engine, late.id, 3_600);
    expect(await cancellations()).toEqual([]);
  });

  it(`applies one of concurrent success, failure, cancellation and expiry for ${RACES} jobs`, async () => {
    const jobs = await inTurns(async (index) =>
      workOn(engine, await submit(engine, account, index % 2 === 0 ? hook : {}), 'finalizing'),
    );
    // From here each of them may end in any way.
    await tamper(
      engine,
      `UPDATE media_job SET finalizing_at = now() - interval '61 seconds', expires_at = now() WHERE organization_id = $1`,
      [account.organizationId],
    );
    const attempts: JobEnding[] = [SUCCEEDED, FAILED, CANCELED, EXPIRED];
    const winners = await inTurns(async (index) => {
      const job = jobs[index] as MediaJob;
      // Rotate which end is sent first; every second one comes from another process.
      const order = attempts.map((_, at) => attempts[(at + index) % attempts.length] as JobEnding);
      const ended = await Promise.all(order.map((ending, at) => finish(at % 2 === 0 ? engine : other, job, ending)));
      const [winner, ...others] = ended.filter((each) => each !== null);
      expect(others).toEqual([]);
      expect(await requireJob(engine, job.id, account)).toEqual(winner);
      const event = TRANSITIONS.find(({ to }) => to === winner?.status)?.event;
      expect(await eventsOf(job)).toEqual(event === undefined || job.webhookUrl === null ? [] : [event]);
      return winner?.status;
    });
    expect(new Set(winners)).toEqual(new Set(['succeeded', 'failed', 'canceled', 'expired']));
    const succeeded = winners.filter((status) => status === 'succeeded').length;
    expect(await balance()).toMatchObject({
      balanceMicro: 10_000_000n - BigInt(succeeded) * 1_000n,
      reservedMicro: 0n,
    });
    const artifacts = `SELECT FROM media_artifact a JOIN media_job j ON j.id = a.job_id WHERE j.organization_id = $1`;
    expect(await query(artifacts, account.organizationId)).toHaveLength(succeeded);
  });

  it('keeps reservation, receipt and deliveries after deletion of the job', async () => {
    const job = await workOn(engine, await submit(engine, account, hook), 'finalizing');
    expect(await engine.jobs.markDeleted(job.id, account.organizationId)).toBe(false);
    await finish(engine, job, SUCCEEDED);
    expect(await engine.jobs.markDeleted(job.id, (await createAccount(engine.money.pool)).organizationId)).toBe(false);
    expect(await engine.jobs.markDeleted(job.id, account.organizationId)).toBe(true);
    expect(await engine.jobs.markDeleted(job.id, account.organizationId)).toBe(false);
    expect(await engine.jobs.find(job.id, account.organizationId, null)).toBeNull();
    const left = { id: job.id, organizationId: account.organizationId, kind: 'video' };
    expect(await engine.jobs.findDeleted(1_000)).toContainEqual(left);
    // Objects are removed before the rows.
    expect(await engine.jobs.remove(job)).toBe(false);
    await engine.jobs.removeArtifacts(job);
    expect(await engine.jobs.remove(job)).toBe(true);
    expect(await eventsOf(job)).toEqual(['job.completed']);
    expect(await holdOf(job)).toEqual({ state: 'settled', charged: '1000' });
    expect(await query('SELECT FROM usage_record WHERE id = $1', job.id)).toHaveLength(1);
  });
});

async function inTurns<Result>(work: (index: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < RACES; start += AT_ONCE) {
    results.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => work(start + at)))));
  }
  return results;
}
