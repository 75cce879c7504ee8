/**
 * The previous version on the schema of this one, beside it, and replaced by it under load. `PREVIOUS_BUILD` is the `dist`
 * folder of its build; the test of migrations under a held lock is in `../integration/database/migrations`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { endChildren, findFreePort } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { NGINX_IS_INSTALLED, type RunningNginx, startBalancer } from '../harness/nginx';
import { createTestRedis } from '../harness/redis';
import { chatBody, ChatLoad, reasonsOf, summarize } from './chat-load';
import { report, until } from './figures';
import { Operator } from './operator';

const { PREVIOUS_BUILD } = process.env;
const CALLERS = 8;
const STREAM_EVERY = 5;
const PHASE_MS = 10_000;
/** Of all requests; each can be sent again. */
const MAX_REFUSED_SHARE = 0.01;

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
    const { build: _previous, ...settings } = previous.settings;
    await GatewayProcess.start({ ...settings, port: previous.port });
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
