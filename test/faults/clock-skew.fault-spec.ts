import { resolve } from 'node:path';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { createCatalog } from '../harness/upstream-models';
import { summarize } from './chat-load';
import { report, until } from './figures';
import { HoldingUpstream } from './holding-upstream';
import { Operator } from './operator';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const REQUESTS = 40;
const BODY = { model: 'local/chat', max_tokens: 20, messages: [{ role: 'user', content: 'hi' }] };

describe.each([
  ['five minutes', 5 * MINUTE_MS],
  ['26 hours', 26 * HOUR_MS],
])('two gateways whose clocks are %s ahead and behind', (name, skewMs) => {
  const catalog = createCatalog();
  let upstream: HoldingUpstream;
  let database: TestDatabase;
  let operator: Operator;
  let gateways: GatewayProcess[];

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    upstream = await HoldingUpstream.start();
    const start = (CLOCK_SKEW_MS: number): Promise<GatewayProcess> =>
      GatewayProcess.start({
        databaseUrl: database.url,
        redisUrl: createTestRedis().url,
        catalogDir: catalog.path,
        environment: {
          OPENAI_COMPATIBLE_BASE_URL: upstream.baseUrl,
          NODE_OPTIONS: `--require ${resolve(__dirname, 'skewed-clock.js')}`,
          CLOCK_SKEW_MS: String(CLOCK_SKEW_MS),
        },
      });
    gateways = await Promise.all([start(skewMs), start(-skewMs)]);
  });
  afterAll(async () => {
    await endChildren();
    await upstream.stop();
    await operator.close();
    await database.drop();
    catalog.remove();
  });

  /** All requests are held at once, so that only the holds decide. */
  const race = async (key: string): Promise<Record<string, number>> => {
    const calls = Array.from({ length: REQUESTS }, (_, index) => {
      const { url } = gateways[index % gateways.length] as GatewayProcess;
      return { url, key, body: BODY };
    });
    return summarize(await upstream.race(calls));
  };

  it.each(['dailyBudgetMicro', 'monthlyBudgetMicro'] as const)(
    "use only the database's clock: one %s for both, in its windows",
    async (budget) => {
      const probe = await operator.customer();
      await upstream.race([{ url: gateways[0]?.url ?? '', key: probe.key, body: BODY }]);
      const [held] = await operator.rows<{ amount: string }>(
        'SELECT amount_micro AS amount FROM reservation WHERE organization_id = $1',
        [probe.organizationId],
      );
      const hold = BigInt(held?.amount ?? 0);
      const { key, keyId, organizationId } = await operator.customer(undefined, { [budget]: 10n * hold });
      const [before] = await operator.rows<{ day: string }>(`SELECT (now() AT TIME ZONE 'UTC')::date::text AS day`);

      const outcomes = await race(key);

      const windows = await operator.rows<{ start: string }>(
        'SELECT window_start::text AS start FROM spend_window WHERE scope_id = $1 AND scope = 2',
        [keyId],
      );
      const [after] = await operator.rows<{ day: string }>(`SELECT (now() AT TIME ZONE 'UTC')::date::text AS day`);
      report(`clocks off by ${name}, ${budget}`, { outcomes, windows });
      expect([before?.day, after?.day]).toEqual(expect.arrayContaining(windows.map(({ start }) => start)));
      // A run across midnight spans two days, and two budgets.
      if (before?.day === after?.day) expect(outcomes).toEqual({ complete: 10, '402 budget_exceeded': REQUESTS - 10 });
      const [late] = await operator.rows<{ count: string }>(
        `SELECT count(*) FROM reservation WHERE organization_id = $1
            AND (abs(extract(epoch FROM created_at - now())) > 60 OR expires_at < now())`,
        [organizationId],
      );
      expect(late?.count).toBe('0');
    },
  );

  it("write leases that are fresh by the database's clock, so that neither treats the other as dead", async () => {
    const leases = await operator.rows<{ age: number }>(
      `SELECT greatest(abs(extract(epoch FROM heartbeat_at - now())), abs(extract(epoch FROM steady_since - now())))::float
              AS age FROM gateway_instance`,
    );
    expect(leases).toHaveLength(2);
    for (const { age } of leases) expect(age).toBeLessThan(60);
    await until('the end of all holds', 5_000, async () => (await operator.heldCount()) === 0);
    expect(await operator.violations()).toEqual([]);
  });
});
