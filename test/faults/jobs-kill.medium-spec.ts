import { setTimeout as delay } from 'node:timers/promises';
import { allowedMs, FULL, report, until } from './figures';
import { JobStop, type Step, STEPS } from './job-stop';
import { endWorkers, type WorkerProcess } from '../harness/worker-process';
import { allWell, JobTown } from './job-town';

/** The design asks for 75 s with a lease of 60 s; the short form has a shorter lease and as much on top of it. */
const LEASE_SECONDS = FULL ? 60 : 2;
const RECOVERY_MS = (LEASE_SECONDS + 15) * 1_000;
const JOBS_PER_STEP = FULL ? 20 : 3;
/**
 * All jobs of a step at once: half the places are one lane's. In the short form the connections are those of a server that
 * other tests need, too.
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
  let town: JobTown;

  beforeAll(async () => {
    town = await JobTown.found(WORKER);
  });
  afterEach(endWorkers);
  afterAll(() => town.leave());

  /** Each worker dies at a step of its own, and the next one finds what it has left, before it dies itself. */
  it('at each of its steps leaves jobs that another one ends, submitted and charged once (F-06)', async () => {
    const outcomes = ['rolled back', 'committed'] as const;
    const deaths = Object.keys(STEPS).flatMap((step, index) =>
      (FULL ? outcomes : [outcomes[index % 2] as (typeof outcomes)[number]]).map((outcome) => ({ step, outcome })),
    );
    // The first of the steps is the submission itself: nobody is there to be woken.
    const jobs = await town.submitMany(JOBS_PER_STEP, () => QUICK);
    const startedAtMs = performance.now();
    for (const { step, outcome } of deaths) {
      const stop = await JobStop.at(step as Step, town.database.url);
      const worker = await town.startWorker();
      jobs.push(...(await town.submitMany(JOBS_PER_STEP, () => QUICK)));
      // Money waits for a second, so that the ends are never all there at once.
      await stop.reached(step === 'end' ? 1 : JOBS_PER_STEP);
      await worker.kill();
      await stop.end(outcome);
    }
    await town.startWorker();
    const recoveredMs = await town.allEnded(jobs, allowedMs(RECOVERY_MS));
    expect(await town.accounts(jobs)).toEqual(allWell(jobs.length));
    const killedMs = Math.round(performance.now() - startedAtMs - recoveredMs);
    report('F-06', { deaths: deaths.length, jobs: jobs.length, killedMs, recoveredMs: Math.round(recoveredMs) });
  }, 900_000);

  it('at any moment costs no job and no second submission, and its jobs are taken over in time (F-07)', async () => {
    const [count, kills] = FULL ? [1_000, 20] : [60, 3];
    const workers = [await town.startWorker(), await town.startWorker()];
    const submitting = submitSlowly(count, FULL ? 60_000 : 4_000);
    const recoveries: Promise<number>[] = [];
    for (let kill = 0; kill < kills; kill++) {
      await delay((FULL ? 2_000 : 700) * (0.5 + Math.random()));
      const victim = workers.shift() as WorkerProcess;
      await victim.kill();
      recoveries.push(takenOver(victim.pid));
      workers.push(await town.startWorker());
    }
    const jobs = await submitting;
    await town.allEnded(jobs, RECOVERY_MS + 120_000);
    const slowest = Math.round(Math.max(...(await Promise.all(recoveries))));
    expect(await town.accounts(jobs)).toEqual(allWell(count));
    report('F-07', { jobs: count, kills, slowestTakeoverMs: slowest });
    expect(slowest).toBeLessThanOrEqual(allowedMs(RECOVERY_MS));
  }, 900_000);

  async function submitSlowly(count: number, overMs: number): Promise<string[]> {
    const batch = 10;
    const jobs: string[] = [];
    while (jobs.length < count) {
      jobs.push(...(await town.submitMany(batch, (index) => `queued=${index * 50} run=${300 + 200 * index}`)));
      await delay((overMs * batch) / count);
    }
    return jobs;
  }

  /** Until no job is a dead worker's any more. */
  function takenOver(pid: number): Promise<number> {
    return until('the takeover', allowedMs(RECOVERY_MS) + 60_000, async () => {
      const rows = await town.operator.rows(
        `SELECT 1 FROM media_job WHERE lease_owner LIKE $1 AND completed_at IS NULL`,
        [`%:${pid}:%`],
      );
      return rows.length === 0;
    });
  }

  it('that only slept, and wakes when another one has its jobs, changes nothing any more (F-08)', async () => {
    const jobs = await town.submitMany(JOBS_PER_STEP, () => QUICK);
    const stop = await JobStop.at('begin of finalizing', town.database.url);
    const sleeper = await town.startWorker();
    await stop.reached(jobs.length);
    sleeper.suspend();
    await stop.end('committed');
    const fences = await fencesOf(jobs);
    if (FULL) await delay(90_000);
    await town.startWorker();
    const recoveredMs = await town.allEnded(jobs, allowedMs(RECOVERY_MS));
    const before = await rowsOf(jobs);
    sleeper.resume();
    // It ends what it believes to have, and then itself.
    expect(await sleeper.stop()).toEqual({ code: 0, signal: null });
    expect(await rowsOf(jobs)).toEqual(before);
    expect((await fencesOf(jobs)).every((fence, index) => fence > (fences[index] ?? Infinity))).toBe(true);
    expect(await town.accounts(jobs)).toEqual(allWell(jobs.length));
    report('F-08', { jobs: jobs.length, recoveredMs: Math.round(recoveredMs) });
  }, 300_000);

  const rowsOf = (ids: string[]) =>
    town.operator.rows('SELECT * FROM media_job WHERE id = ANY ($1) ORDER BY id', [ids]);
  async function fencesOf(ids: string[]): Promise<number[]> {
    return (
      await town.operator.rows<{ fence: number }>('SELECT fence FROM media_job WHERE id = ANY ($1) ORDER BY id', [ids])
    ).map(({ fence }) => fence);
  }
});
