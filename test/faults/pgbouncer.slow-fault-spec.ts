import { endChildren } from '../harness/child-process';
import { createEmptyTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { PGBOUNCER_IS_INSTALLED, type RunningPgBouncer, startPgBouncer } from '../harness/pgbouncer';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody } from './chat-load';
import { allowedMs, report } from './figures';
import { Operator } from './operator';

const PROCESSES = 3;
const CALLS = 60;

const whenInstalled = PGBOUNCER_IS_INSTALLED ? describe : describe.skip;

whenInstalled('gateways behind PgBouncer that start at once (skipped where pgbouncer is not installed)', () => {
  let database: TestDatabase;
  let pooler: RunningPgBouncer;
  let gateways: GatewayProcess[];

  beforeAll(async () => {
    database = await createEmptyTestDatabase();
    pooler = await startPgBouncer(database.url, 4);
    gateways = Array.from({ length: PROCESSES }, () =>
      GatewayProcess.launch({
        databaseUrl: pooler.urlOf(database.url),
        redisUrl: createTestRedis().url,
        environment: { DATABASE_DIRECT_URL: database.url, MOCK_PROVIDER: 'true' },
      }),
    );
  });
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await pooler.stop();
    await endChildren();
    await database.drop();
  });

  it('migrate once, are ready within 10 s and charge what they serve', async () => {
    const readyAfterMs = await Promise.all(gateways.map((gateway) => gateway.ready()));
    const operator = await Operator.connect(database.url);
    const customer = await operator.customer();
    const exchanges = await Promise.all(
      Array.from({ length: CALLS }, (_, call) =>
        chat({ url: gateways[call % PROCESSES]?.url ?? '', key: customer.key, body: chatBody('tokens=5') }),
      ),
    );
    const served = exchanges.filter(({ outcome }) => outcome === 'complete');
    report('three gateways behind PgBouncer', { readyAfterMs: readyAfterMs.map(Math.round), served: served.length });
    expect(Math.max(...readyAfterMs)).toBeLessThan(allowedMs(10_000));
    expect(served.length).toBeGreaterThan(0);
    const charges = await operator.charges(customer.organizationId);
    expect(served.map(({ requestId }) => charges.get(requestId ?? ''))).toEqual(
      served.map(({ costMicro }) => costMicro),
    );
    expect(await operator.violations()).toEqual([]);
    await operator.close();
  });
});
