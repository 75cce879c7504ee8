/**
 * One worker follows many running jobs of one vendor: how late it polls them, and its CPU time. On a real Redis: the
 * embedded one takes 15 times as long for a queue's scripts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { readCpuMicros } from '../bench/cpu';
import { FakeUpstream } from '../conformance/fake-upstream';
import { FalUpstream } from '../conformance/fal-upstream';
import { REDIS_IS_INSTALLED, RedisServer } from '../harness/redis-servers';
import { endWorkers } from '../harness/worker-process';
import { FULL, quantile, report } from './figures';
import { JobFixture } from './job-fixture';

const JOBS = Number(process.env.RUNNING_JOBS ?? 1_000);
const SUBMITTED_AT_ONCE = 20;
const MODEL = 'stability/stable-audio-2.5';
/** Most vendors answer within this. */
const RESPONSE_MS = 100;
/** In which the first, more frequent polls are over. */
const WARM_UP_MS = 30_000;
const MEASURED_MS = 30_000;

/** Records how late each claim is, in the database, so that the worker itself is not changed. */
const RECORD_LAGS = `
  CREATE TABLE test_lag (lag_ms float8 NOT NULL);
  CREATE FUNCTION test_record_lag() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO test_lag VALUES (extract(epoch FROM clock_timestamp() - OLD.next_run_at) * 1000);
    RETURN NEW;
  END $$;
  CREATE TRIGGER test_record_lag AFTER UPDATE ON media_job FOR EACH ROW
    WHEN (NEW.fence > OLD.fence AND OLD.status = 'running') EXECUTE FUNCTION test_record_lag()`;

(REDIS_IS_INSTALLED ? describe : describe.skip)(`${JOBS} running jobs on one worker`, () => {
  let fixture: JobFixture;
  let redis: RedisServer;
  let vendor: FakeUpstream;
  const fal = new FalUpstream();

  beforeAll(async () => {
    redis = await RedisServer.start();
    vendor = await FakeUpstream.start();
    vendor.answer = (response, request) => void setTimeout(() => fal.answer(response, request), RESPONSE_MS);
    fixture = await JobFixture.start({
      REDIS_URL: redis.url,
      FAL_KEY: 'fal-test-1234',
      FAL_BASE_URL: vendor.origin,
      OUTBOUND_ALLOW_CIDRS: '127.0.0.1',
      // Half of it for one vendor: 1,000 jobs that are polled every 15 s and answered in 0.1 s hold 7, their first polls more.
      WORKER_CONCURRENCY: '100',
    });
    await fixture.operator.rows(RECORD_LAGS);
  });
  afterEach(endWorkers);
  afterAll(async () => {
    await fixture.stop();
    await Promise.all([vendor.stop(), redis.remove()]);
  });

  it('are polled at most 2 s late, in 95 of 100 cases', async () => {
    const worker = await fixture.startWorker();
    fal.questionsToEnd = Infinity;
    const jobs: string[] = [];
    const song = { model: MODEL, duration_seconds: 3, format: undefined };
    while (jobs.length < JOBS) {
      jobs.push(...(await Promise.all(Array.from({ length: SUBMITTED_AT_ONCE }, () => fixture.submit('', song)))));
    }
    await fixture.allSubmitted(jobs);
    await delay(WARM_UP_MS);

    const cpuMicros = (): number =>
      readCpuMicros([{ name: 'worker', pid: worker.pid, scope: 'self' }]).get('worker') ?? Number.NaN;
    await fixture.operator.rows('TRUNCATE test_lag');
    const beforeMicros = cpuMicros();
    await delay(MEASURED_MS);
    const usedMicros = cpuMicros() - beforeMicros;
    const rows = await fixture.operator.rows<{ lag_ms: number }>('SELECT lag_ms FROM test_lag');
    const lagsMs = rows.map(({ lag_ms: lagMs }) => lagMs);
    const p95Ms = quantile(lagsMs, 0.95);
    report('running jobs', {
      jobs: JOBS,
      polls: lagsMs.length,
      pollsPerJobIn10Seconds: (lagsMs.length / JOBS) * (10_000 / MEASURED_MS),
      lagMs: { p50: quantile(lagsMs, 0.5), p95: p95Ms, max: quantile(lagsMs, 1) },
      cpuMicrosPerPoll: Math.round(usedMicros / lagsMs.length),
      cpuShare: usedMicros / 1_000 / MEASURED_MS,
    });
    if (FULL) expect(p95Ms).toBeLessThanOrEqual(2_000);
    expect(vendor.received.filter(({ method }) => method === 'POST')).toHaveLength(JOBS);
  }, 900_000);
});
