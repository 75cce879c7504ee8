import { systemClock } from '../../../src/core/time/clock';
import { JobExpiry } from '../../../src/media-jobs/job-expiry.service';
import type { MediaJob } from '../../../src/media-jobs/media-job.types';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { createAccount, requireSoundBooks } from '../billing/money-engine';
import { type JobEngine, letExpire, requireJob, startJobEngine, startPunctualJobEngine, submit } from './job-engine';

describe('sweep of expired jobs', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let other: JobEngine;
  let expiry: JobExpiry;
  beforeAll(async () => {
    database = await createTestDatabase();
    // A short lock timeout, so that skipping is quick.
    [engine, other] = await Promise.all([startPunctualJobEngine(database.url), startJobEngine(database.url)]);
    expiry = new JobExpiry(engine.jobs, engine.endings, systemClock);
  });
  afterAll(async () => {
    await requireSoundBooks(other.money);
    await Promise.all([engine.close(), other.close()]);
    await database.drop();
  });

  it('skips any number of jobs of locked accounts and ends them later', async () => {
    const [blocked, free] = [await createAccount(other.money.pool), await createAccount(other.money.pool)];
    // A full batch, all of them longer overdue.
    const waiting: MediaJob[] = [];
    for (let count = 0; count < 100; count++) waiting.push(await submit(other, blocked));
    const quick = await submit(other, free);
    for (const { id } of [...waiting, quick]) await letExpire(engine, id);
    const statusOf = async (job: MediaJob) => (await requireJob(engine, job.id, job)).status;
    await other.dataSource.transaction(async (manager) => {
      const lock = 'SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE';
      await manager.query(lock, [blocked.organizationId]);
      await expiry.expireDue();
      expect(await statusOf(quick)).toBe('expired');
      expect(await statusOf(waiting[0] as MediaJob)).toBe('queued');
    });
    await expiry.expireDue();
    for (const job of waiting) expect(await statusOf(job)).toBe('expired');
  });
});
