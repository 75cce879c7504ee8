/**
 * Two gateways and a worker behind nginx are replaced one after another, again and again, while clients send plain and
 * streamed requests at a fixed rate. No client may notice.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { endChildren, findFreePort } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { NGINX_IS_INSTALLED, type RunningNginx, startBalancer } from '../harness/nginx';
import { createTestRedis } from '../harness/redis';
import { endWorkers, WorkerProcess } from '../harness/worker-process';
import { chat, chatBody, type Exchange, reasonsOf, summarize } from './chat-load';
import { FULL, report, until } from './figures';
import { type Customer, Operator } from './operator';

const ROUNDS = Number(process.env.ROLLING_ROUNDS ?? (FULL ? 10 : 2));
const PER_SECOND = Number(process.env.ROLLING_PER_SECOND ?? (FULL ? 300 : 40));
/** Every one of so many requests is a stream of two seconds. */
const STREAM_EVERY = 10;
/** nginx asks another server when one refuses the connection; the drain makes it refuse only after this. */
const SHUTDOWN_DELAY_MS = 1_000;

(NGINX_IS_INSTALLED ? describe : describe.skip)(`${ROUNDS} rolling restarts behind nginx`, () => {
  const directory = createDataDirectory();
  let database: TestDatabase;
  let operator: Operator;
  let customer: Customer;
  let gateways: GatewayProcess[];
  let worker: WorkerProcess;
  let nginx: RunningNginx;

  const startWorker = (): Promise<WorkerProcess> =>
    WorkerProcess.start({ databaseUrl: database.url, redisUrl: createTestRedis().url, dataDir: directory.path });

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    customer = await operator.customer(10n ** 12n);
    const start = async (): Promise<GatewayProcess> =>
      GatewayProcess.start({
        databaseUrl: database.url,
        redisUrl: createTestRedis().url,
        dataDir: directory.path,
        port: await findFreePort(),
        environment: { WORKER: 'none', SHUTDOWN_DELAY_MS: String(SHUTDOWN_DELAY_MS) },
      });
    gateways = [await start(), await start()];
    worker = await startWorker();
    nginx = await startBalancer(gateways.map(({ url }) => url));
  });
  afterAll(async () => {
    await nginx.stop();
    await endWorkers();
    await endChildren();
    await operator.close();
    await database.drop();
    directory.remove();
  });

  it(
    `at ${PER_SECOND} requests a second, with streams, fail no request and cut no stream`,
    async () => {
      const exchanges: Exchange[] = [];
      const open = new Set<Promise<void>>();
      let sent = 0;
      const send = (): void => {
        const body =
          sent++ % STREAM_EVERY === 0
            ? chatBody('chunks=40 delay=50ms', { stream: true })
            : chatBody('delay=0 tokens=5');
        const one: Promise<void> = chat({ url: `http://127.0.0.1:${nginx.port}`, key: customer.key, body })
          .then((exchange) => void exchanges.push(exchange))
          .finally(() => open.delete(one));
        open.add(one);
      };
      const startedAtMs = performance.now();
      const pacing = setInterval(() => {
        // On schedule, also after a stall of this process.
        while (sent < ((performance.now() - startedAtMs) * PER_SECOND) / 1_000) send();
      }, 5);
      await until('an answer', 20_000, () => exchanges.length > 0);

      const exits: unknown[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        // Both orders: gateways before the worker, the second gateway first, and the reverse.
        const steps = [() => replace(0), () => replace(1), () => replaceWorker()];
        for (const step of round % 2 === 0 ? steps : steps.toReversed()) exits.push(await step());
      }
      clearInterval(pacing);
      const lengthMs = performance.now() - startedAtMs;
      await Promise.all(open);

      report('rolling restarts', {
        rounds: ROUNDS,
        clients: summarize(exchanges),
        reasons: reasonsOf(exchanges),
        streams: summarize(exchanges.filter(({ streamed }) => streamed)),
        perSecond: Math.round((sent * 1_000) / lengthMs),
      });
      expect(exits).toEqual(Array.from({ length: 3 * ROUNDS }, () => ({ code: 0, signal: null })));
      expect(summarize(exchanges)).toEqual({ complete: sent });
      await until('the end of all holds', 30_000, async () => (await operator.heldCount()) === 0);
      const charges = await operator.charges(customer.organizationId);
      expect(exchanges.filter(({ requestId, costMicro }) => charges.get(requestId ?? '') !== costMicro)).toEqual([]);
      expect(await operator.violations()).toEqual([]);
    },
    ROUNDS * 120_000,
  );

  /** SIGTERM, the complete drain, and a new process on the same port. */
  async function replace(index: number): Promise<unknown> {
    const old = gateways[index] as GatewayProcess;
    const exit = await old.stop();
    gateways[index] = old.restart();
    await gateways[index].ready();
    await delay(500);
    return exit;
  }

  async function replaceWorker(): Promise<unknown> {
    const exit = await worker.stop();
    worker = await startWorker();
    return exit;
  }
});
