/**
 * One worker follows many running jobs of one vendor: how late it polls them, and what a job costs from its submission
 * to its end. On a real Redis: the embedded one takes 15 times as long for a queue's scripts.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readCpuMicros } from '../bench/cpu';
import { FakeUpstream } from '../conformance/fake-upstream';
import { FalUpstream } from '../conformance/fal-upstream';
import { MP3 } from '../conformance/job-upstream';
import { PublicHost, respondWith } from '../harness/public-host';
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
const ENDS_WITHIN_MS = 120_000;

/**
 * Records how late each poll is written, in the database, so that the worker itself is not changed. The vendor's
 * response takes {@link RESPONSE_MS} of it.
 */
const RECORD_LAGS = `
  CREATE TABLE test_lag (lag_ms float8 NOT NULL);
  CREATE FUNCTION test_record_lag() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO test_lag VALUES (extract(epoch FROM clock_timestamp() - OLD.next_run_at) * 1000);
    RETURN NEW;
  END $$;
  CREATE TRIGGER test_record_lag AFTER UPDATE ON media_job FOR EACH ROW
    WHEN (NEW.polls > OLD.polls AND OLD.status = 'running') EXECUTE FUNCTION test_record_lag()`;

(REDIS_IS_INSTALLED ? describe : describe.skip)(`${JOBS} running jobs on one worker`, () => {
  let fixture: JobFixture;
  let redis: RedisServer;
  let vendor: FakeUpstream;
  let files: PublicHost;
  const fal = new FalUpstream();
  const certificate = join(tmpdir(), `running-jobs-${randomUUID()}.pem`);

  beforeAll(async () => {
    redis = await RedisServer.start();
    files = await PublicHost.start();
    files.answer = (response) => respondWith(response, MP3, 'audio/mpeg');
    writeFileSync(certificate, files.certificate);
    fal.end = { result: { audio: { url: files.url('/song.mp3') } } };
    vendor = await FakeUpstream.start();
    vendor.answer = (response, request) => void setTimeout(() => fal.answer(response, request), RESPONSE_MS);
    fixture = await JobFixture.start({
      REDIS_URL: redis.url,
      FAL_KEY: 'fal-test-1234',
      FAL_BASE_URL: vendor.origin,
      OUTBOUND_ALLOW_CIDRS: '127.0.0.1',
      NODE_EXTRA_CA_CERTS: certificate,
      // Half of it for one vendor: 1,000 jobs that are polled every 15 s and answered in 0.1 s hold 7, their first
      // polls more.
      WORKER_CONCURRENCY: '100',
    });
    await fixture.operator.rows(RECORD_LAGS);
  });
  afterEach(endWorkers);
  afterAll(async () => {
    await fixture.stop();
    rmSync(certificate);
    await Promise.all([files.stop(), vendor.stop(), redis.remove()]);
  });

  it('are polled at most 2 s late, in 95 of 100 cases', async () => {
    const worker = await fixture.startWorker();
    const cpu = await cpuMeterOf(fixture, redis, worker);
    fal.questionsToEnd = Infinity;
    const jobs: string[] = [];
    const song = { model: MODEL, duration_seconds: 3, format: undefined };
    while (jobs.length < JOBS) {
      jobs.push(...(await Promise.all(Array.from({ length: SUBMITTED_AT_ONCE }, () => fixture.submit('', song)))));
    }
    await fixture.allSubmitted(jobs);
    const submission = cpu.takeMicros();
    await delay(WARM_UP_MS);

    await fixture.operator.rows('TRUNCATE test_lag');
    const warmUp = cpu.takeMicros();
    await delay(MEASURED_MS);
    const polling = cpu.takeMicros();
    const rows = await fixture.operator.rows<{ lag_ms: number }>('SELECT lag_ms FROM test_lag');
    const lagsMs = rows.map(({ lag_ms: lagMs }) => lagMs);
    const p95Ms = quantile(lagsMs, 0.95);

    report('polls of running jobs', {
      jobs: JOBS,
      load: loadavg()[0],
      polls: lagsMs.length,
      pollsPerJobIn10Seconds: (lagsMs.length / JOBS) * (10_000 / MEASURED_MS),
      lagMs: { p50: quantile(lagsMs, 0.5), p95: p95Ms, max: quantile(lagsMs, 1) },
      cpuMicrosPerPoll: mapParts((name) => Math.round(polling[name] / lagsMs.length)),
    });

    fal.questionsToEnd = 0;
    await fixture.allEnded(jobs, ENDS_WITHIN_MS);
    const end = cpu.takeMicros();
    const [polls] = await fixture.operator.rows<{ all: number }>('SELECT sum(polls)::float8 AS all FROM media_job');
    const perJob = (name: Part): number =>
      [submission, warmUp, polling, end].reduce((sum, micros) => sum + micros[name], 0) / JOBS / 1_000;
    report('the whole life of a job', {
      polls: (polls?.all ?? Number.NaN) / JOBS,
      cpuMs: mapParts(perJob),
      ofWorker: { submission: submission.worker / JOBS / 1_000, end: end.worker / JOBS / 1_000 },
    });
    if (FULL) expect(p95Ms).toBeLessThanOrEqual(2_000);
    expect(vendor.received.filter(({ method }) => method === 'POST')).toHaveLength(JOBS);
    expect(await fixture.census(jobs)).toEqual({ succeeded: JOBS });
  }, 900_000);
});

type Part = 'worker' | 'postgres' | 'redis';
type Micros = Readonly<Record<Part, number>>;

function mapParts(valueOf: (name: Part) => number): Micros {
  return { worker: valueOf('worker'), postgres: valueOf('postgres'), redis: valueOf('redis') };
}

/** CPU time since the last call, of the worker and the servers; that of the gateways' statements included. */
async function cpuMeterOf({ operator }: JobFixture, redis: RedisServer, worker: { readonly pid: number }) {
  const [backend] = await operator.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const postgres = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${backend?.pid}/status`, 'utf8'))?.[1]);
  const metered = [
    { name: 'worker', pid: worker.pid, scope: 'self' },
    { name: 'postgres', pid: postgres, scope: 'tree' },
    { name: 'redis', pid: redis.pid, scope: 'self' },
  ] as const;
  const read = (): Micros => {
    const micros = readCpuMicros(metered);
    return mapParts((name) => micros.get(name) ?? Number.NaN);
  };
  let last = read();
  return {
    takeMicros: (): Micros => {
      const [before, now] = [last, read()];
      last = now;
      return mapParts((name) => now[name] - before[name]);
    },
  };
}
