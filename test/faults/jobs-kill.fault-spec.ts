import { setTimeout as delay } from 'node:timers/promises';
import { endWorkers, type WorkerProcess } from '../harness/worker-process';
import { allowedMs, FULL, report, until } from './figures';
import { allSucceeded, JobFixture, RECOVERY_MS, KILLED_WORKERS } from './job-fixture';

describe('kill -9 of a worker', () => {
  let fixture: JobFixture;

  beforeAll(async () => {
    fixture = await JobFixture.start(KILLED_WORKERS);
  });
  afterEach(endWorkers);
  afterAll(() => fixture.stop());

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
});
