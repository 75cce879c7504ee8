import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { createAccount, requireSoundBooks } from '../billing/money-engine';
import {
  ARTIFACT,
  FAILED,
  finish,
  type JobEngine,
  requireJob,
  startJobEngine,
  submit,
  tamper,
  workOn,
} from './job-engine';
import { WorkerStage } from './worker-stage';

describe('retention of jobs', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let stage: WorkerStage;
  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
    stage = new WorkerStage(engine, ['first']);
  });
  afterAll(async () => {
    await stage.close();
    await requireSoundBooks(engine.money);
    await engine.close();
    await database.drop();
  });

  it('deletes every job that ended JOB_RETENTION_DAYS ago, and neither younger ones nor those that have not ended', async () => {
    const account = await createAccount(engine.money.pool);
    const end = async (daysAgo: number) => {
      const job = await submit(engine, account);
      await finish(engine, job, FAILED);
      await tamper(engine, 'UPDATE media_job SET completed_at = now() - make_interval(days => $2) WHERE id = $1', [
        job.id,
        daysAgo,
      ]);
      return job;
    };
    // More than one batch.
    for (let count = 0; count < 110; count++) await end(400);
    const [younger, open] = [await end(399), await submit(engine, account)];
    await stage.sweeps.sweepPastRetention();
    const kept = await engine.dataSource.query<{ id: string }[]>(
      'SELECT id FROM media_job WHERE organization_id = $1 AND deleted_at IS NULL ORDER BY id',
      [account.organizationId],
    );
    expect(kept.map(({ id }) => id)).toEqual([younger.id, open.id]);
    expect(await engine.jobs.findDeleted(1_000)).toHaveLength(110);
    await stage.sweeps.sweepDeleted();
    expect(await engine.jobs.findDeleted(1_000)).toEqual([]);
  });

  it('keeps a job whose webhook is not delivered yet', async () => {
    const account = await createAccount(engine.money.pool);
    const job = await submit(engine, account, { webhookUrl: 'https://hooks.example.com/jobs' });
    await finish(engine, job, FAILED);
    await tamper(engine, `UPDATE media_job SET completed_at = now() - interval '401 days' WHERE id = $1`, [job.id]);
    await stage.sweeps.sweepPastRetention();
    expect(await engine.jobs.findDeleted(1_000)).toEqual([]);
    await engine.dataSource.query(
      `UPDATE webhook_delivery SET state = 'exhausted', ended_at = now() WHERE job_id = $1`,
      [job.id],
    );
    await stage.sweeps.sweepPastRetention();
    expect((await engine.jobs.findDeleted(1_000)).map(({ id }) => id)).toEqual([job.id]);
    await stage.sweeps.sweepDeleted();
  });

  it('removes all artifact rows of results that storage has deleted, and keeps their jobs', async () => {
    const account = await createAccount(engine.money.pool);
    const job = await workOn(engine, await submit(engine, account), 'finalizing');
    const artifacts = Array.from({ length: 250 }, (_, at) => ({ ...ARTIFACT, storageKey: `video/1/${at}.mp4` }));
    const ended = await finish(
      engine,
      job,
      { status: 'succeeded', costMicro: 1_000n, artifacts },
      { fence: job.fence },
    );
    await engine.dataSource.query(`UPDATE media_artifact SET created_at = now() - interval '169 hours'`);
    await stage.sweeps.sweepExpiredResults();
    const left = async () => {
      const [row] = await engine.dataSource.query<{ count: number }[]>('SELECT count(*)::int FROM media_artifact');
      return row?.count;
    };
    expect(await left()).toBe(0);
    expect(await requireJob(engine, job.id, account)).toEqual(ended);
  });
});
