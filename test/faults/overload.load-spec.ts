import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody } from './chat-load';
import { report, until } from './figures';
import { LoadGenerator } from './open-load';
import type { OpenLoadJob, OpenLoadResult } from './open-load-process';
import { Operator } from './operator';

const CALLERS = 64;
const WARM_UP_MS = 5_000;
/** The rate of two seconds varies by a third. */
const PEAK_MS = 10_000;
const OVERLOAD_MS = 60_000;
/** The goal of the design is 0.8; on two cores shared with the load generator 0.82 to 0.87 was measured. */
const LEAST_SHARE_OF_PEAK = 0.7;

describe('three times the capacity of the gateway', () => {
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
      environment: { OVERLOAD_CONCURRENCY: '256' },
    });
    generator = LoadGenerator.start();
  });
  afterAll(async () => {
    generator.stop();
    await endChildren();
    await operator.close();
    await database.drop();
  });

  it('is shed at once while the gateway serves at its capacity', async () => {
    const { key } = await operator.customer(10n ** 15n);
    const url = `${gateway.url}/v1/chat/completions`;
    const body = chatBody('delay=0 tokens=300', { max_tokens: 300, stream: true });
    const run = async (load: OpenLoadJob['load'], durationMs: number): Promise<OpenLoadResult> => {
      const result = await generator.run({ url, key, body: JSON.stringify(body), load, durationMs });
      report(`load ${JSON.stringify(load)}`, result);
      return result;
    };
    await run({ callers: CALLERS }, WARM_UP_MS);
    const { goodput: peak, statuses } = await run({ callers: CALLERS }, PEAK_MS);
    expect(Object.keys(statuses)).toEqual(['200']);

    const overload = await run({ perSecond: 3 * peak }, OVERLOAD_MS);
    const recoveredMs = await until('the first answer after the overload', 5_000, async () => {
      return (await chat({ url: gateway.url, key, body })).outcome === 'complete';
    });
    const after = await run({ perSecond: peak / 4 }, WARM_UP_MS);
    report('F-64', { peak, goodput: overload.goodput, share: overload.goodput / peak, recoveredMs });

    // Every request gets a response, and every refusal has Retry-After.
    expect(['200', '503']).toEqual(expect.arrayContaining(Object.keys(overload.statuses)));
    expect(overload.withoutRetryAfter).toBe(0);
    expect(overload.goodput).toBeGreaterThan(LEAST_SHARE_OF_PEAK * peak);
    expect(overload.refused.p50).toBeLessThan(50);
    expect(Object.keys(after.statuses)).toEqual(['200']);
    await until('the end of all holds', 10_000, async () => (await operator.heldCount()) === 0);
    expect(await operator.violations()).toEqual([]);
  }, 180_000);
});
