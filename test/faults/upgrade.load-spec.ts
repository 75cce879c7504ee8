/**
 * The previous version on the schema of this one, beside it, and replaced by it under load. `PREVIOUS_BUILD` is the
 * `dist` folder of its build; the test of migrations under a held lock is in `../integration/database/migrations`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { endChildren, findFreePort } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { NGINX_IS_INSTALLED, type RunningNginx, startBalancer } from '../harness/nginx';
import { createTestRedis } from '../harness/redis';
import { endWorkers } from '../harness/worker-process';
import { chatBody, ChatLoad, reasonsOf, summarize } from './chat-load';
import { report, until } from './figures';
import { allSucceeded, JobFixture } from './job-fixture';
import { Operator } from './operator';

const { PREVIOUS_BUILD } = process.env;
const CALLERS = 8;
const STREAM_EVERY = 5;
const PHASE_MS = 10_000;
/** Of all requests; each can be sent again. */
const MAX_REFUSED_SHARE = 0.01;
/** Submitted in each of the three phases of an upgrade. */
const JOBS = 20;
/** The last jobs of a phase end long after its processes were replaced. */
const JOB_STEP_MS = 500;

const runs = NGINX_IS_INSTALLED && PREVIOUS_BUILD !== undefined;
(runs ? describe : describe.skip)('an upgrade under load (needs nginx and PREVIOUS_BUILD)', () => {
  const directory = createDataDirectory();
  let database: TestDatabase;
  let operator: Operator;
  let gateways: GatewayProcess[];
  let nginx: RunningNginx;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    const start = async (build?: string): Promise<GatewayProcess> =>
      GatewayProcess.start({
        databaseUrl: database.url,
        redisUrl: createTestRedis().url,
        dataDir: directory.path,
        port: await findFreePort(),
        ...(build !== undefined && { build }),
        environment: { WORKER: 'none', MIGRATE_ON_START: 'false', SHUTDOWN_DELAY_MS: '1000' },
      });
    gateways = [await start(PREVIOUS_BUILD), await start()];
    nginx = await startBalancer(gateways.map(({ url }) => url));
  });
  afterAll(async () => {
    await nginx.stop();
    await endChildren();
    await operator.close();
    await database.drop();
    directory.remove();
  });

  it('fails no request but 1 % with 503, and keeps the books', async () => {
    const { key, organizationId } = await operator.customer(10n ** 12n);
    const load = new ChatLoad(CALLERS, (index) => ({
      url: `http://127.0.0.1:${nginx.port}`,
      key,
      body:
        index % STREAM_EVERY === 0 ? chatBody('chunks=20 delay=20ms', { stream: true }) : chatBody('delay=0 tokens=5'),
    }));
    await delay(PHASE_MS);
    const [previous] = gateways as [GatewayProcess, GatewayProcess];
    expect(await previous.stop()).toEqual({ code: 0, signal: null });
    await startThisVersion(previous);
    await delay(PHASE_MS / 2);
    const exchanges = await load.stop();

    const endings = summarize(exchanges);
    report('upgrade', { endings, reasons: reasonsOf(exchanges) });
    expect(['complete', '503 service_unavailable']).toEqual(expect.arrayContaining(Object.keys(endings)));
    expect(endings['503 service_unavailable'] ?? 0).toBeLessThanOrEqual(MAX_REFUSED_SHARE * exchanges.length);
    await until('the end of all holds', 30_000, async () => (await operator.heldCount()) === 0);
    const charges = await operator.charges(organizationId);
    const wrong = exchanges.filter(({ outcome, requestId, costMicro }) =>
      outcome === 'complete' ? charges.get(requestId ?? '') !== costMicro : charges.has(requestId ?? ''),
    );
    expect(wrong).toEqual([]);
    expect(await operator.violations()).toEqual([]);
  }, 300_000);
});

(PREVIOUS_BUILD === undefined ? describe.skip : describe)('jobs during an upgrade (needs PREVIOUS_BUILD)', () => {
  let fixture: JobFixture;

  beforeAll(async () => {
    fixture = await JobFixture.start({ MIGRATE_ON_START: 'false' }, PREVIOUS_BUILD);
  });
  afterAll(async () => {
    await endWorkers();
    await fixture.stop();
  });

  it('are submitted and charged once, by gateways and workers of both versions', async () => {
    const submit = (): Promise<string[]> =>
      fixture.submitMany(JOBS, (index) => `queued=0 run=${(index + 1) * JOB_STEP_MS}ms`);
    const previousWorker = await fixture.startWorker({}, PREVIOUS_BUILD);
    const jobs = await submit();
    await fixture.startWorker();
    jobs.push(...(await submit()));
    expect(await fixture.gateway.stop()).toEqual({ code: 0, signal: null });
    await startThisVersion(fixture.gateway);
    jobs.push(...(await submit()));
    await fixture.allSubmitted(jobs);
    const { succeeded: ended = 0 } = await fixture.census(jobs);
    expect(await previousWorker.stop()).toEqual({ code: 0, signal: null });
    await fixture.allEnded(jobs, 60_000);

    report('jobs during an upgrade', { jobs: jobs.length, beforeTheWorkerStopped: ended });
    expect(ended).toBeLessThan(2 * JOBS);
    expect(await fixture.accounts(jobs)).toEqual(allSucceeded(jobs.length));
  }, 300_000);
});

/** Replaces a stopped gateway of the previous version, on its port. */
function startThisVersion({ settings, port }: GatewayProcess): Promise<GatewayProcess> {
  const { build: _previous, ...shared } = settings;
  return GatewayProcess.start({ ...shared, port });
}
