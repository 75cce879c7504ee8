import { PollRounds } from '../../../src/media-jobs/worker/poll-rounds';
import type { MediaJob } from '../../../src/media-jobs/media-job.types';
import { systemClock } from '../../../src/core/time/clock';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { makeTestVideo } from '../../harness/media-files';
import { type Account, createAccount, requireSoundBooks } from '../billing/money-engine';
import { type JobEngine, letPass, requireJob, startJobEngine, submit } from './job-engine';
import { CAPABLE, RUNNING, ScriptedProvider, WorkerStage } from './worker-stage';

describe('rounds of polls', () => {
  let database: TestDatabase;
  let engine: JobEngine;
  let account: Account;
  let video: Buffer;
  let stage: WorkerStage;
  let provider: ScriptedProvider;
  let rounds: PollRounds;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await startJobEngine(database.url);
    video = await makeTestVideo();
  });
  beforeEach(async () => {
    account = await createAccount(engine.money.pool);
    stage = new WorkerStage(engine, ['first', 'other'], { concurrency: 20 });
    provider = scripted('first');
    stage.adapters.set('first', provider.adapter);
    rounds = new PollRounds(engine.jobs, stage.runner, systemClock);
  });
  afterEach(async () => {
    await stage.close();
    // Later tests find no job of this one.
    await engine.dataSource.query(`UPDATE media_job SET next_run_at = now() + interval '1 hour'`);
    await requireSoundBooks(engine.money);
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  /** No poll becomes due by itself, however slow the machine is. */
  function scripted(id: string): ScriptedProvider {
    const created = new ScriptedProvider(id, video);
    created.capabilities = { ...CAPABLE, pollMs: [60_000, 60_000] };
    return created;
  }

  /** Accepted by the provider `route`, with a poll that is due. */
  async function due(route = 'first'): Promise<MediaJob> {
    const job = await stage.step(await submit(engine, account, { route: [route] }));
    await letPass(engine, job.id, 120);
    return requireJob(engine, job.id, job);
  }
  const current = (job: MediaJob) => requireJob(engine, job.id, job);
  const pollsOf = async (jobs: readonly MediaJob[]) =>
    (await Promise.all(jobs.map(current))).map(({ polls, progress }) => [polls, progress]);

  it('find, claim and record many polls with one statement each', async () => {
    provider.onPoll = () => Promise.resolve(RUNNING);
    const jobs = [await due(), await due(), await due()];
    const query = jest.spyOn(engine.dataSource, 'query');
    expect(await rounds.round()).toBe(3);
    await stage.runner.stop(60_000);
    const statements = query.mock.calls.length;
    query.mockRestore();
    expect([statements, await pollsOf(jobs)]).toEqual([3, jobs.map(() => [1, 40])]);
  });

  it('poll no job before it is due, none that has no handle, and none that another worker holds', async () => {
    const early = await stage.step(await submit(engine, account, { route: ['first'] }));
    const unsent = await submit(engine, account, { route: ['first'] });
    const held = await due();
    await engine.work.claim(held, 'another');
    await letPass(engine, unsent.id, 60);
    expect(await rounds.round()).toBe(0);
    expect((await current(early)).polls).toBe(0);
  });

  it('record the polls of other jobs while a row is locked, and the locked one afterwards', async () => {
    provider.onPoll = () => Promise.resolve(RUNNING);
    const [locked, other] = [await due(), await due()];
    const answer = Promise.withResolvers<void>();
    provider.onPoll = () => answer.promise.then(() => RUNNING);
    expect(await rounds.round()).toBe(2);
    while (provider.polls < 2) await current(other);
    const lock = engine.dataSource.createQueryRunner();
    await lock.startTransaction();
    await lock.query('SELECT FROM media_job WHERE id = $1 FOR UPDATE', [locked.id]);
    answer.resolve();
    while ((await current(other)).polls === 0) continue;
    expect(await pollsOf([locked, other])).toEqual([
      [0, null],
      [1, 40],
    ]);
    await lock.rollbackTransaction();
    await lock.release();
    await stage.runner.stop(60_000);
    expect(await pollsOf([locked])).toEqual([[1, 40]]);
  });

  it('leave the slots of other providers free while one hangs', async () => {
    const quick = scripted('other');
    quick.onPoll = () => Promise.resolve(RUNNING);
    stage.adapters.set('other', quick.adapter);
    const hanging = Promise.withResolvers<never>();
    provider.onPoll = () => hanging.promise;
    const stuck = await Promise.all(Array.from({ length: 12 }, () => due()));
    const quickJob = await due('other');
    for (let round = 0; (await current(quickJob)).polls === 0; round++) await rounds.round();
    expect(provider.polls).toBeLessThanOrEqual(10);
    hanging.reject(new Error('over'));
    await stage.runner.stop(60_000);
    expect(stuck).toHaveLength(12);
  });
});
