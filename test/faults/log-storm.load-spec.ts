/** What a gateway writes while its only provider is down. Alone on the machine, in the long form. */
import { endChildren, findFreePort } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { createCatalog } from '../harness/upstream-models';
import { report } from './figures';
import { LoadGenerator } from './open-load';
import { Operator } from './operator';

const PER_SECOND = Number(process.env.STORM_PER_SECOND ?? 500);
const STORM_MS = 15_000;
const LINES_PER_SECOND = 100;

interface Line {
  readonly time: string;
  readonly event?: string;
  readonly suppressed?: number;
}

describe(`a provider that is down at ${PER_SECOND} requests a second`, () => {
  const catalog = createCatalog();
  let database: TestDatabase;
  let operator: Operator;
  let gateway: GatewayProcess;
  let generator: LoadGenerator;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      catalogDir: catalog.path,
      environment: { OPENAI_COMPATIBLE_BASE_URL: `http://127.0.0.1:${await findFreePort()}/v1` },
    });
    generator = LoadGenerator.start();
  });
  afterAll(async () => {
    generator.stop();
    await endChildren();
    await operator.close();
    await database.drop();
    catalog.remove();
  });

  it('writes 100 lines of each event a second, and says how many requests it left out', async () => {
    const { key } = await operator.customer(10n ** 15n);
    const body = JSON.stringify({ model: 'local/chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 });
    const url = `${gateway.url}/v1/chat/completions`;
    const load = { perSecond: PER_SECOND };
    const { statuses, refused } = await generator.run({ url, key, body, load, durationMs: STORM_MS });
    const requests = Object.values(statuses).reduce((sum, count) => sum + count, 0);
    expect(statuses).toEqual({ 503: requests });
    await gateway.child.end();

    const lines = gateway.log
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line);
    const ofStorm = (name: string) => lines.filter(({ event }) => event === name);
    const written = ofStorm('request_ended').filter(({ suppressed }) => suppressed === undefined).length;
    const suppressed = ofStorm('request_ended').reduce((sum, line) => sum + (line.suppressed ?? 0), 0);
    const events = Map.groupBy(lines, ({ event }) => event ?? 'none');
    const most = Object.fromEntries([...events].map(([event, all]) => [event, linesInBusiestSecond(all)]));
    report('log storm', { requests, written, suppressed, most, p99Ms: refused.p99, bytes: gateway.log.length });
    expect(written + suppressed).toBe(requests);
    expect(suppressed).toBeGreaterThan(0);
    // The guard counts from the first line of its second, so a second of the clock may touch two of those.
    expect(Object.entries(most).filter(([, count]) => count > 2 * LINES_PER_SECOND)).toEqual([]);
    expect(written).toBeLessThanOrEqual(LINES_PER_SECOND * (STORM_MS / 1_000 + 2));
  }, 120_000);
});

function linesInBusiestSecond(lines: readonly Line[]): number {
  return Math.max(...[...Map.groupBy(lines, ({ time }) => time.slice(0, 19)).values()].map(({ length }) => length));
}
