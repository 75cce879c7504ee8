import { setTimeout as delay } from 'node:timers/promises';
import { endWorkers } from '../harness/worker-process';
import { allowedMs, FULL, report } from './figures';
import { allSucceeded, JobFixture, RECOVERY_MS, KILLED_WORKERS } from './job-fixture';
import { JobStop, type Step, STEPS } from './job-stop';

/** All jobs of a step at once: half the slots belong to one lane. */
const JOBS_PER_STEP = FULL ? 20 : 3;
/** Its first poll finds it running. */
const QUICK = 'queued=0 run=2s';

describe('kill -9 of a worker', () => {
  let fixture: JobFixture;

  beforeAll(async () => {
    fixture = await JobFixture.start(KILLED_WORKERS);
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
