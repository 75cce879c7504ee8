/**
 * What it costs requests that a gateway is watched: Prometheus reads its metrics every second, and one request in a
 * hundred is traced. Alone on the machine, in the long form.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { endChildren, findFreePort } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { SpanCollector } from '../harness/span-collector';
import { chatBody } from './chat-load';
import { report } from './figures';
import { LoadGenerator } from './open-load';
import { Operator } from './operator';

const PER_SECOND = Number(process.env.OBSERVED_PER_SECOND ?? 500);
/** Each compares ten seconds of every way to watch with ten seconds of none. */
const ROUNDS = 3;
const ROUND_MS = 10_000;
const SCRAPE_EVERY_MS = 1_000;
const TRACED_EVERY = 100;
/** By how much the 99 % of requests may be delayed, in the best of the rounds: other work only adds. */
const MAX_DELAY_MS = { scraped: 2, traced: 1 };

interface Figures {
  readonly p99Ms: number;
  /** Of all threads of the gateway. */
  readonly cpuUsPerRequest: number;
}

describe(`a gateway that serves ${PER_SECOND} requests a second`, () => {
  let database: TestDatabase;
  let operator: Operator;
  let collector: SpanCollector;
  let gateway: GatewayProcess;
  let metricsUrl: string;
  let generator: LoadGenerator;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    collector = await SpanCollector.start();
    const port = await findFreePort();
    metricsUrl = `http://127.0.0.1:${port}/metrics`;
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      environment: {
        MANAGEMENT_PORT: String(port),
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        // Callers decide which requests are traced, so that all figures are of one process.
        OTEL_TRACES_SAMPLER_ARG: '0',
      },
    });
    generator = LoadGenerator.start();
  });
  afterAll(async () => {
    generator.stop();
    await endChildren();
    collector.stop();
    await operator.close();
    await database.drop();
  });

  it('delays the 99 % of requests by at most 2 ms while it is scraped, and by 1 ms while 1 % is traced', async () => {
    const { key } = await operator.customer(10n ** 15n);
    const body = JSON.stringify(chatBody('delay=0 tokens=20'));
    const url = `${gateway.url}/v1/chat/completions`;
    const run = async (sampledEvery?: number): Promise<Figures> => {
      const cpuBeforeUs = cpuUs(gateway.child.pid);
      const load = { perSecond: PER_SECOND };
      const { statuses, served } = await generator.run({ url, key, body, load, durationMs: ROUND_MS, sampledEvery });
      expect(Object.keys(statuses)).toEqual(['200']);
      const usedUs = cpuUs(gateway.child.pid) - cpuBeforeUs;
      return { p99Ms: served.p99, cpuUsPerRequest: Math.round(usedUs / (statuses[200] ?? 0)) };
    };
    await run(TRACED_EVERY);
    const rounds: Record<'bare' | 'scraped' | 'traced', Figures>[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const bare = await run();
      let bytes = 0;
      const scrapes = setInterval(() => {
        void fetch(metricsUrl)
          .then((reply) => reply.text())
          .then((text) => (bytes = text.length));
      }, SCRAPE_EVERY_MS);
      const scraped = await run();
      clearInterval(scrapes);
      expect(bytes).toBeGreaterThan(0);
      rounds.push({ bare, scraped, traced: await run(TRACED_EVERY) });
    }
    report('watched under load', { perSecond: PER_SECOND, rounds, spans: collector.spans.length });
    expect(collector.spans.length).toBeGreaterThan(0);
    for (const way of ['scraped', 'traced'] as const) {
      const delaysMs = rounds.map((figures) => figures[way].p99Ms - figures.bare.p99Ms);
      expect([way, Math.min(...delaysMs) <= MAX_DELAY_MS[way]]).toEqual([way, true]);
    }
  }, 300_000);
});

/** CPU time of a process so far, in microseconds (Linux). */
function cpuUs(pid: number): number {
  const times = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
  );
  return times.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1_000;
}
