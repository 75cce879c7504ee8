import { Redis } from 'ioredis';
import { endWorkers } from '../harness/worker-process';
import { allowedMs, FULL, report, until } from './figures';
import { allWell, JobTown } from './job-town';

describe('work on jobs', () => {
  let town: JobTown;

  beforeAll(async () => {
    town = await JobTown.found();
  });
  afterEach(endWorkers);
  afterAll(() => town.leave());

  it('begins within a second when there is nothing else to do', async () => {
    await town.startWorker();
    // It loads what the others find loaded.
    await town.allEnded([await town.submit('queued=0 run=0')], 20_000);
    const count = FULL ? 200 : 20;
    const jobs: string[] = [];
    while (jobs.length < count) jobs.push(await town.submit('queued=0 run=100ms'));
    await town.allEnded(jobs, 30_000);
    const rows = await town.operator.rows<{ ms: number }>(
      `SELECT (extract(epoch FROM started_at - created_at) * 1000)::float8 AS ms
         FROM media_job WHERE id = ANY ($1) ORDER BY 1`,
      [jobs],
    );
    const p95 = rows[Math.floor(rows.length * 0.95)]?.ms ?? Infinity;
    report('queued to submitted', { jobs: count, p50: rows[count >> 1]?.ms, p95, max: rows.at(-1)?.ms });
    expect(p95).toBeLessThanOrEqual(allowedMs(1_000));
  });

  it('goes on within 15 s when Redis has forgotten everything (F-32)', async () => {
    await Promise.all([town.startWorker(), town.startWorker()]);
    const count = FULL ? 200 : 20;
    const jobs = await town.submitMany(count, (index) => `queued=0 run=${1_500 + 50 * index}`);
    await town.allSubmitted(jobs);
    const redis = new Redis(town.redis.url);
    expect(await redis.flushall()).toBe('OK');
    redis.disconnect();

    let latestSeconds = 0;
    await until('the end of all jobs', 60_000, async () => {
      const [row] = await town.operator.rows<{ under_way: number; late: number | null }>(
        `SELECT count(*)::int AS under_way,
                max(extract(epoch FROM now() - next_run_at)) FILTER (WHERE lease_until IS NULL)::float8 AS late
           FROM media_job WHERE completed_at IS NULL`,
      );
      latestSeconds = Math.max(latestSeconds, row?.late ?? 0);
      return row?.under_way === 0;
    });
    report('F-32', { jobs: count, latestSeconds });
    expect(latestSeconds).toBeLessThanOrEqual(allowedMs(15_000) / 1_000);
    expect(await town.accounts(jobs)).toEqual(allWell(count));
  });

  it('goes on while there is no Redis at all', async () => {
    await town.startWorker();
    const jobs = await town.submitMany(5, () => 'queued=0 run=500ms');
    await town.redis.stop();
    const endedMs = await town.allEnded(jobs, 30_000);
    report('without Redis', { jobs: jobs.length, endedMs: Math.round(endedMs) });
    expect(await town.accounts(jobs)).toEqual(allWell(jobs.length));
    await town.redis.restart();
  });

  it('is left by a worker that is stopped, for another one to go on with at once', async () => {
    const first = await town.startWorker();
    const jobs = await town.submitMany(10, () => 'queued=0 run=2s');
    await town.allSubmitted(jobs);
    expect((await fetch(`${first.url}/health`)).status).toBe(200);
    // Not while one of its servers is late.
    await until('readiness', 10_000, async () => (await fetch(`${first.url}/ready`)).status === 200);
    const startedAtMs = performance.now();
    expect(await first.stop()).toEqual({ code: 0, signal: null });
    report('stop of a worker', { tookMs: Math.round(performance.now() - startedAtMs) });
    const held = 'SELECT 1 FROM media_job WHERE lease_owner IS NOT NULL';
    expect(await town.operator.rows(held)).toEqual([]);
    await town.startWorker();
    await town.allEnded(jobs, 30_000);
    expect(await town.accounts(jobs)).toEqual(allWell(jobs.length));
  });
});

describe('the time of a job', () => {
  let town: JobTown;

  beforeAll(async () => {
    // All of them are to be with the provider by then.
    town = await JobTown.found({ JOB_TTL_SECONDS: FULL ? '2' : '10' });
  });
  afterAll(() => town.leave());

  it('ends it within ten seconds, whoever works on it, and its provider is told (F-42)', async () => {
    await town.startWorker();
    const count = FULL ? 100 : 10;
    const jobs = await town.submitMany(count, () => 'queued=0 run=60s');
    await until('the end of all jobs', 30_000, async () => (await town.census(jobs)).expired === count);
    const [row] = await town.operator.rows<{ late: number }>(
      'SELECT max(extract(epoch FROM completed_at - expires_at))::float8 AS late FROM media_job',
    );
    report('F-42', { jobs: count, latestSeconds: row?.late });
    expect(row?.late).toBeLessThanOrEqual(allowedMs(10_000) / 1_000);
    const canceled = async () => (await town.providerLog()).filter(({ event }) => event === 'canceled');
    await until('the cancellations', 20_000, async () => (await canceled()).length === count);
    expect(await town.accounts(jobs)).toMatchObject({ jobs: count, succeeded: 0, charges: 0, artifacts: 0, held: 0 });
  });
});
