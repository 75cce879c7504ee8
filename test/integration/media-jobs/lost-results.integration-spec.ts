import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { createAccount, requireSoundBooks } from '../billing/money-engine';
import { ARTIFACT, finish, type JobEngine, requireJob, startJobEngine, submit, workOn } from './job-engine';
import { WorkerStage } from './worker-stage';

describe('sweep of expired results', () => {
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

  it('removes all artifact rows without a file in one run and keeps the jobs', async () => {
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
