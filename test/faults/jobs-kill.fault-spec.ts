import { setTimeout as delay } from 'node:timers/promises';
import { allowedMs, FULL, report, until } from './figures';
import { JobStop, type Step, STEPS } from './job-stop';
import { endWorkers, type WorkerProcess } from '../harness/worker-process';
import { allSucceeded, JobFixture } from './job-fixture';

/** The design requires 75 s with a lease of 60 s; the short form has a shorter lease and the same margin. */
const LEASE_SECONDS = FULL ? 60 : 2;
const RECOVERY_MS = (LEASE_SECONDS + 15) * 1_000;
const JOBS_PER_STEP = FULL ? 20 : 3;
/**
 * All jobs of a step at once: half the slots belong to one lane. The short form shares the server's connections with
 * other tests.
 */
const WORKER = {
  WORKER_LEASE_SECONDS: String(LEASE_SECONDS),
  WORKER_CONCURRENCY: '60',
  DATABASE_POOL_SIZE: FULL ? '40' : '24',
  MONEY_POOL_SIZE: FULL ? '30' : '8',
};
/** Its first poll finds it running. */
const QUICK = 'queued=0 run=2s';

describe('kill -9 of a worker', () => {
  let fixture: JobFixture;

  beforeAll(async () => {
    fixture = await JobFixture.start(WORKER);
  });
  afterEach(endWorkers);
  afterAll(() => fixture.stop());

  /** Each worker is killed at a different step; the next one takes over its jobs before it is killed too. */
  it('at each step leaves jobs that another worker completes, submitted and charged once (F-06)', async () => {
    const outcomes = ['rolled back', 'committed'] as const;
    const deaths = Object.keys(STEPS).flatMap((step, index) =>
      (FULL ? outcomes : [outcomes[index % 2] as (typeof outcomes)[number]]).map((outcome) => ({ step, outcome })),
    );
    // The first step is the submission itself: there is no worker to wake.
    const jobs = await fixture.submitMany(JOBS_PER_STEP, () => QUICK);
    const startedAtMs = performance.now();
    for (const { step, outcome } of deaths) {
      const stop = await JobStop.at(step as Step, fixture.database.url);
      const worker = await fixture.startWorker();
      jobs.push(...(await fixture.submitMany(JOBS_PER_STEP, () => QUICK)));
      // Billing waits for a second, so that some jobs are always unfinished.
      await stop.reached(step === 'end' ? 1 : JOBS_PER_STEP);
      await worker.kill();
      await stop.end(outcome);
    }
    await fixture.startWorker();
    const recoveredMs = await fixture.allEnded(jobs, allowedMs(RECOVERY_MS));
    expect(await fixture.accounts(jobs)).toEqual(allSucceeded(jobs.length));
    const killedMs = Math.round(performance.now() - startedAtMs - recoveredMs);
    report('F-06', { deaths: deaths.length, jobs: jobs.length, killedMs, recoveredMs: Math.round(recoveredMs) });
  }, 900_000);

  it('at any moment loses no job, causes no second submission, and jobs are taken over in time (F-07)', async () => {
    const [count, kills] = FULL ? [1_000, 20] : [40, 2];
    const workers = [await fixture.startWorker(), await fixture.startWorker()];
    const submitting = submitSlowly(count, FULL ? 60_000 : 2_000);
    const recoveries: Promise<number>[] = [];
    for (let kill = 0; kill < kills; kill++) {
      await delay((FULL ? 2_000 : 700) * (0.5 + Math.random()));
      const victim = workers.shift() as WorkerProcess;
      await victim.kill();
      recoveries.push(takenOver(victim.pid));
      workers.push(await fixture.startWorker());
    }
    const jobs = await submitting;
    await fixture.allEnded(jobs, RECOVERY_MS + 120_000);
    const slowest = Math.round(Math.max(...(await Promise.all(recoveries))));
    expect(await fixture.accounts(jobs)).toEqual(allSucceeded(count));
    report('F-07', { jobs: count, kills, slowestTakeoverMs: slowest });
    expect(slowest).toBeLessThanOrEqual(allowedMs(RECOVERY_MS));
  }, 900_000);

  async function submitSlowly(count: number, overMs: number): Promise<string[]> {
    const batch = 10;
    const jobs: string[] = [];
    while (jobs.length < count) {
      jobs.push(...(await fixture.submitMany(batch, (index) => `queued=${index * 50} run=${300 + 200 * index}`)));
      await delay((overMs * batch) / count);
    }
    return jobs;
  }

  /** Until no job belongs to a dead worker. */
  function takenOver(pid: number): Promise<number> {
    return until('the takeover', allowedMs(RECOVERY_MS) + 60_000, async () => {
      const rows = await fixture.operator.rows(
        `SELECT 1 FROM media_job WHERE lease_owner LIKE $1 AND completed_at IS NULL`,
        [`%:${pid}:%`],
      );
      return rows.length === 0;
    });
  }

  it('a suspended worker that resumes after a takeover changes nothing (F-08)', async () => {
    const jobs = await fixture.submitMany(JOBS_PER_STEP, () => QUICK);
    const stop = await JobStop.at('begin of finalizing', fixture.database.url);
    const sleeper = await fixture.startWorker();
    await stop.reached(jobs.length);
    sleeper.suspend();
    await stop.end('committed');
    const fences = await fencesOf(jobs);
    if (FULL) await delay(90_000);
    await fixture.startWorker();
    const recoveredMs = await fixture.allEnded(jobs, allowedMs(RECOVERY_MS));
    const before = await rowsOf(jobs);
    sleeper.resume();
    // It ends the jobs that it believes it owns, then exits.
    expect(await sleeper.stop()).toEqual({ code: 0, signal: null });
    expect(await rowsOf(jobs)).toEqual(before);
    expect((await fencesOf(jobs)).every((fence, index) => fence > (fences[index] ?? Infinity))).toBe(true);
    expect(await fixture.accounts(jobs)).toEqual(allSucceeded(jobs.length));
    report('F-08', { jobs: jobs.length, recoveredMs: Math.round(recoveredMs) });
  }, 300_000);

  const rowsOf = (ids: string[]) =>
    fixture.operator.rows('SELECT * FROM media_job WHERE id = ANY ($1) ORDER BY id', [ids]);
  async function fencesOf(ids: string[]): Promise<number[]> {
    return (
      await fixture.operator.rows<{ fence: number }>('SELECT fence FROM media_job WHERE id = ANY ($1) ORDER BY id', [
        ids,
      ])
    ).map(({ fence }) => fence);
  }
});
