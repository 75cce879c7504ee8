import type { MediaJob } from '../../../src/media-jobs/media-job.types';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { createAccount, requireSoundBooks } from '../billing/money-engine';
import { type JobEngine, letExpire, requireJob, startJobEngine, startPunctualJobEngine, submit } from './job-engine';
import { WorkerStage } from './worker-stage';

describe('the sweep of expired jobs', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let other: JobEngine;
  let stage: WorkerStage;
  beforeAll(async () => {
    database = await createTestDatabase();
    // Passing over takes not waiting for long.
    [engine, other] = await Promise.all([startPunctualJobEngine(database.url), startJobEngine(database.url)]);
    stage = new WorkerStage(engine, ['first'], { options: { sweepMs: 50 } });
  });
  afterAll(async () => {
    await stage.sweeps.stop();
    await stage.close();
    await requireSoundBooks(other.money);
    await Promise.all([engine.close(), other.close()]);
    await database.drop();
  });

  it('passes over what cannot be ended now, however much of it there is, and comes back to it', async () => {
    const [heldUp, free] = [await createAccount(other.money.pool), await createAccount(other.money.pool)];
    // As many as one look takes, and all of them longer overdue.
    const waiting: MediaJob[] = [];
    for (let count = 0; count < 100; count++) waiting.push(await submit(other, heldUp));
    const quick = await submit(other, free);
    for (const { id } of [...waiting, quick]) await letExpire(engine, id);
    const statusOf = async (job: MediaJob) => (await requireJob(engine, job.id, job)).status;
    const expired = async (job: MediaJob) => {
      while ((await statusOf(job)) !== 'expired');
    };
    await other.dataSource.transaction(async (manager) => {
      const lock = 'SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE';
      await manager.query(lock, [heldUp.organizationId]);
      stage.sweeps.start(false);
      await expired(quick);
      expect(await statusOf(waiting[0] as MediaJob)).toBe('queued');
    });
    for (const job of waiting) await expired(job);
  });
});
