import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { createAccount, requireSoundBooks } from '../billing/money-engine';
import { type JobEngine, letExpire, requireJob, startJobEngine, submit } from './job-engine';
import { WorkerStage } from './worker-stage';

describe('the sweep of expired jobs', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let other: JobEngine;
  let stage: WorkerStage;
  beforeAll(async () => {
    database = await createTestDatabase();
    [engine, other] = await Promise.all([startJobEngine(database.url), startJobEngine(database.url)]);
    stage = new WorkerStage(engine, ['first'], { options: { sweepMs: 50 } });
  });
  afterAll(async () => {
    await stage.sweeps.stop();
    await stage.close();
    await requireSoundBooks(engine.money);
    await Promise.all([engine.close(), other.close()]);
    await database.drop();
  });

  it('passes over what cannot be ended now, and comes back to it', async () => {
    const [heldUp, free] = [await createAccount(engine.money.pool), await createAccount(engine.money.pool)];
    const jobs = [await submit(engine, heldUp), await submit(engine, heldUp), await submit(engine, free)] as const;
    for (const { id } of jobs) await letExpire(engine, id);
    const statusOf = async (job: (typeof jobs)[number]) => (await requireJob(engine, job.id, job)).status;
    const expired = async (job: (typeof jobs)[number]) => {
      while ((await statusOf(job)) !== 'expired');
    };
    await other.dataSource.transaction(async (manager) => {
      const lock = 'SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE';
      await manager.query(lock, [heldUp.organizationId]);
      stage.sweeps.start(false);
      await expired(jobs[2]);
      expect(await statusOf(jobs[0])).toBe('queued');
    });
    await Promise.all([expired(jobs[0]), expired(jobs[1])]);
  });
});
