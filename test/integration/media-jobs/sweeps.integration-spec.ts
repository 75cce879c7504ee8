import { systemClock } from '../../../src/core/time/clock';
import { JobExpiry } from '../../../src/media-jobs/job-expiry.service';
import type { MediaJob } from '../../../src/media-jobs/media-job.types';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { createAccount, requireSoundBooks } from '../billing/money-engine';
import {
  type JobEngine,
  letExpire,
  requireJob,
  startJobEngine,
  startPunctualJobEngine,
  submit,
  tamper,
} from './job-engine';

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
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await requireSoundBooks(other.money);
    await Promise.all([engine.close(), other.close()]);
    await database.drop();
  });

  const statusOf = async (job: MediaJob) => (await requireJob(engine, job.id, job)).status;

  it('skips any number of jobs of locked accounts and ends them later', async () => {
    const [blocked, free] = [await createAccount(other.money.pool), await createAccount(other.money.pool)];
    // A full batch, all of them longer overdue.
    const waiting: MediaJob[] = [];
    for (let count = 0; count < 100; count++) waiting.push(await submit(other, blocked));
    const quick = await submit(other, free);
    for (const { id } of [...waiting, quick]) await letExpire(engine, id);
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

  it('ends jobs that are older than 2^31 milliseconds, as after a standstill of 25 days', async () => {
    const job = await submit(other, await createAccount(other.money.pool));
    await letExpire(other, job.id);
    await tamper(other, `UPDATE media_job SET created_at = created_at - interval '26 days' WHERE id = $1`, [job.id]);
    await expiry.expireDue();
    expect(await statusOf(job)).toBe('expired');
  });

  it('ends all other jobs when some can never be ended, such as ones with inconsistent rows', async () => {
    const stuck: MediaJob[] = [];
    for (let count = 0; count < 5; count++) stuck.push(await submit(other, await createAccount(other.money.pool)));
    const sound = await Promise.all([
      submit(other, stuck[0] as MediaJob),
      submit(other, await createAccount(other.money.pool)),
    ]);
    for (const { id } of [...stuck, ...sound]) await letExpire(other, id);
    const finish = engine.endings.finish.bind(engine.endings);
    jest.spyOn(engine.endings, 'finish').mockImplementation(async (id, ...rest) => {
      if (stuck.some((job) => job.id === id)) await engine.money.pool.query('SELECT 1 / 0');
      return finish(id, ...rest);
    });

    await expiry.expireDue();

    expect(await Promise.all(sound.map(statusOf))).toEqual(['expired', 'expired']);
    expect(await Promise.all(stuck.map(statusOf))).toEqual(Array(5).fill('queued'));
    jest.restoreAllMocks();
    await expiry.expireDue();
  });
});
