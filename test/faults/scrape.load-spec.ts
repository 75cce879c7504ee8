/** Prometheus reads the metrics every second while requests are served. Alone on the machine, in the long form. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { endChildren, findFreePort } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chatBody } from './chat-load';
import { report } from './figures';
import type { OpenLoadJob, OpenLoadResult } from './open-load-process';
import { Operator } from './operator';

const PER_SECOND = Number(process.env.SCRAPE_PER_SECOND ?? 500);
/** Each compares ten seconds with scrapes to ten without. */
const ROUNDS = 3;
const ROUND_MS = 10_000;
const SCRAPE_EVERY_MS = 1_000;
/** By how much scrapes may delay the 99 % of requests, in the best of the rounds: other work only adds. */
const MAX_DELAY_MS = 2;

describe(`a scrape every second at ${PER_SECOND} requests a second`, () => {
  let database: TestDatabase;
  let operator: Operator;
  let gateway: GatewayProcess;
  let metricsUrl: string;
  let generator: ChildProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    const port = await findFreePort();
    metricsUrl = `http://127.0.0.1:${port}/metrics`;
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      environment: { MANAGEMENT_PORT: String(port) },
    });
    generator = fork(join(__dirname, 'open-load-process.ts'), {
      execArgv: ['--require', resolve(__dirname, '../harness/register-typescript.js')],
    });
  });
  afterAll(async () => {
    generator.disconnect();
    await endChildren();
    await operator.close();
    await database.drop();
  });

  it(`delays the 99 % of requests by at most ${MAX_DELAY_MS} ms`, async () => {
    const { key } = await operator.customer(10n ** 15n);
    const url = `${gateway.url}/v1/chat/completions`;
    const body = JSON.stringify(chatBody('delay=0 tokens=20'));
    const run = async (durationMs: number): Promise<OpenLoadResult> => {
      generator.send({ url, key, body, load: { perSecond: PER_SECOND }, durationMs } satisfies OpenLoadJob);
      const [result] = (await once(generator, 'message')) as [OpenLoadResult];
      expect(Object.keys(result.statuses)).toEqual(['200']);
      return result;
    };
    await run(ROUND_MS / 2);
    const rounds: { readonly without: number; readonly with: number; readonly bytes: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const without = await run(ROUND_MS);
      let bytes = 0;
      const scrapes = setInterval(() => {
        void fetch(metricsUrl)
          .then((reply) => reply.text())
          .then((text) => (bytes = text.length));
      }, SCRAPE_EVERY_MS);
      const scraped = await run(ROUND_MS);
      clearInterval(scrapes);
      expect(bytes).toBeGreaterThan(0);
      rounds.push({ without: without.served.p99, with: scraped.served.p99, bytes });
    }
    report('scrapes under load', { perSecond: PER_SECOND, p99: rounds });
    expect(Math.min(...rounds.map((round) => round.with - round.without))).toBeLessThanOrEqual(MAX_DELAY_MS);
  }, 300_000);
});
