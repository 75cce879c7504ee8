/**
 * Hours of production in short: clients of every kind, jobs with webhooks and readers of the dashboard, while a gateway
 * and a worker are killed again and again. `SOAK_MINUTES` sets the length, `SOAK_PER_SECOND` the requests.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { PasswordHasher } from '../../src/dashboard/accounts/password-hasher';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { PublicHost } from '../harness/public-host';
import { endWorkers } from '../harness/worker-process';
import { allowedMs, FULL, report, until } from './figures';
import { allSucceeded, JobFixture, KILLED_WORKERS, RECOVERY_MS } from './job-fixture';
import type { Customer } from './operator';
import { SoakCensus } from './soak-census';
import { SoakLoad } from './soak-load';

const MINUTES = Number(process.env.SOAK_MINUTES ?? (FULL ? 20 : 1));
const PER_SECOND = Number(process.env.SOAK_PER_SECOND ?? (FULL ? 100 : 20));
const JOBS_PER_SECOND = 1;
const SAMPLES = 240;
/** On average; each pause is between half of it and one and a half. */
const KILL_EVERY_MS = Math.min(20_000, (MINUTES * 60_000) / 6);
/** From this length on, memory has warmed up, and its figure is asserted. */
const MEMORY_COUNTS_FROM_MINUTES = 20;
const PASSWORD = 'a password of these tests';

describe(`a soak of ${MINUTES} minutes with kills (F-68)`, () => {
  let host: PublicHost;
  let fixture: JobFixture;
  let redis: Redis;
  let victim: GatewayProcess;
  const directory = createDataDirectory();

  beforeAll(async () => {
    host = await PublicHost.start();
    host.answer = (response) => response.writeHead(200).end();
    const certificate = join(directory.path, 'ca.pem');
    writeFileSync(certificate, host.certificate);
    fixture = await JobFixture.start({
      ...KILLED_WORKERS,
      SECRETS_KEY: '5e'.repeat(32),
      OUTBOUND_ALLOW_CIDRS: '127.0.0.1',
      NODE_EXTRA_CA_CERTS: certificate,
    });
    redis = new Redis(fixture.redis.url);
    victim = await GatewayProcess.start(fixture.gateway.settings);
  });
  afterAll(async () => {
    redis.disconnect();
    await endWorkers();
    await fixture.stop();
    await host.stop();
    directory.remove();
  });

  it(
    'keeps memory, files, connections, rows and keys flat, and every charge right',
    async () => {
      const [customer, keyedCustomer] = [await fixture.operator.customer(), await fixture.operator.customer()];
      const cookie = await signIn(customer);
      const steadyWorker = await fixture.startWorker();
      let killedWorker = await fixture.startWorker();
      const census = new SoakCensus(fixture.operator, redis, {
        gateway: fixture.gateway.child.pid,
        worker: steadyWorker.pid,
      });
      const endMs = performance.now() + MINUTES * 60_000;
      // Those of clients, which keep the address of a gateway that is down.
      const urls = { steady: fixture.gateway.url, killed: victim.url };
      const load = new SoakLoad({
        gateways: urls,
        customer,
        keyedCustomer,
        cookie,
        perSecond: PER_SECOND,
      });

      const jobs: string[] = [];
      const submitting = repeat(endMs, 1_000 / JOBS_PER_SECOND, async () => {
        jobs.push(await fixture.submit('queued=100 run=500', { webhook_url: host.url('/hook') }));
      });
      const sampling = repeat(endMs, (MINUTES * 60_000) / SAMPLES, () => census.take());
      const kills = { gateway: 0, worker: 0 };
      const killing = (async () => {
        for (;;) {
          const pauseMs = KILL_EVERY_MS * (0.5 + Math.random());
          // A replacement needs time to serve before the end.
          if (performance.now() + pauseMs + 5_000 > endMs) return;
          await delay(pauseMs);
          if (kills.gateway <= kills.worker) {
            await victim.kill();
            victim = victim.restart();
            await victim.ready();
            kills.gateway++;
          } else {
            await killedWorker.kill();
            killedWorker = await fixture.startWorker();
            kills.worker++;
          }
        }
      })();
      await Promise.all([submitting, sampling, killing]);
      await load.stop();
      await fixture.allEnded(jobs, RECOVERY_MS + 120_000);
      const quietMs = await until('the end of all work', 240_000, async () => {
        return Object.keys(await census.leftOvers()).length === 0;
      });

      const received = new Set(host.seen.map(({ body }) => (JSON.parse(body) as { job: { id: string } }).job.id));
      const peaks = census.peaks();
      const medians = census.medians();
      report('F-68', {
        minutes: MINUTES,
        perSecond: PER_SECOND,
        kills,
        endings: load.endings,
        keyed: load.keyed,
        jobs: jobs.length,
        webhooks: host.seen.length,
        quietMs: Math.round(quietMs),
        peaks,
        medians,
      });

      expect(Math.min(kills.gateway, kills.worker)).toBeGreaterThan(0);
      expect(await fixture.accounts(jobs)).toEqual(allSucceeded(jobs.length));
      expect(jobs.filter((id) => !received.has(id))).toEqual([]);
      const charges = await fixture.operator.charges(customer.organizationId);
      expect([...load.costs].filter(([id, costMicro]) => charges.get(id) !== costMicro)).toEqual([]);
      expect([...(await fixture.operator.charges(keyedCustomer.organizationId)).values()].filter(Boolean)).toHaveLength(
        load.keyed,
      );
      // Only the killed gateway may break a connection; both may be late for a moment on a busy machine.
      const allowed = ['complete', 'aborted', 'read 200', 'read 503', '503 service_unavailable'];
      expect(Object.keys(load.endings.steady ?? {}).filter((ending) => !allowed.includes(ending))).toEqual([]);
      const ofKilled = [...allowed, 'broken', 'read 0'];
      expect(Object.keys(load.endings.killed ?? {}).filter((ending) => !ofKilled.includes(ending))).toEqual([]);
      expect(Object.entries(peaks).filter(hasGrown)).toEqual([]);
      if (MINUTES >= MEMORY_COUNTS_FROM_MINUTES) {
        // Peaks, because V8 gives memory back and takes it again: in an hour without growth a median moved by 65 MiB.
        expect(growthMiB(peaks.gateway_rss_mib)).toBeLessThanOrEqual(16);
        expect(growthMiB(peaks.worker_rss_mib)).toBeLessThanOrEqual(16);
      }
      expect(quietMs).toBeLessThan(allowedMs(120_000));
    },
    (MINUTES + 15) * 60_000,
  );

  /** A user of the organization; returns the cookie of a session. */
  async function signIn({ organizationId }: Customer): Promise<string> {
    const email = `${randomUUID()}@example.com`;
    await fixture.operator.rows(
      `WITH added AS (
         INSERT INTO user_account (id, email, email_key, name, password_hash, email_verified_at)
         VALUES (gen_random_uuid(), $1, $1, 'Ada', $2, now()) RETURNING id)
       INSERT INTO organization_member (organization_id, user_id, role) SELECT $3, id, 'owner' FROM added`,
      [email, await new PasswordHasher().hash(PASSWORD), organizationId],
    );
    const response = await fetch(`${fixture.gateway.url}/dashboard/api/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-requested-with': 'test' },
      body: JSON.stringify({ email, password: PASSWORD }),
    });
    expect(response.status).toBe(200);
    return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  }
});

/** Runs an action at fixed intervals until an instant, one at a time. */
async function repeat(untilMs: number, everyMs: number, action: () => Promise<void>): Promise<void> {
  while (performance.now() < untilMs) {
    const startedAtMs = performance.now();
    await action();
    await delay(Math.max(0, everyMs - (performance.now() - startedAtMs)));
  }
}

/** Flat: the peak of the last quarter is that of the second one, give or take what a busy machine holds up. */
function hasGrown([name, [second, last]]: readonly [string, readonly [number, number]]): boolean {
  return !name.endsWith('_rss_mib') && last > 1.5 * second + 50;
}

function growthMiB(figures: readonly [number, number] | undefined): number {
  const [second, last] = figures ?? [0, Infinity];
  return last - second;
}
