import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { FaultProxy } from '../harness/fault-proxy';
import { GatewayProcess } from '../harness/gateway-process';
import { REDIS_IS_INSTALLED, RedisServer } from '../harness/redis-servers';
import { chatBody, ChatLoad, type Exchange, summarize } from './chat-load';
import { allowedMs, report, until } from './figures';
import { type Customer, Operator } from './operator';

const CALLERS = 4;
const CALLS_BEFORE = 30;
const PRIMARY_NAME = 'limits-primary';

const whenInstalled = REDIS_IS_INSTALLED ? describe : describe.skip;

whenInstalled('a failover of Redis (skipped where redis-server is not installed)', () => {
  let database: TestDatabase;
  let operator: Operator;
  let customer: Customer;
  let primary: RedisServer;
  let replica: RedisServer;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    customer = await operator.customer(1_000_000_000n, { requestsPerSecond: 1_000 });
  });
  beforeEach(async () => {
    [primary, replica] = await Promise.all([RedisServer.start(), RedisServer.start()]);
    await replica.follow(primary);
  });
  afterEach(async () => {
    await Promise.all([primary.remove(), replica.remove()]);
  });
  afterAll(async () => {
    await operator.close();
    await endChildren();
    await database.drop();
  });

  /** Sends requests through a failover. Returns the milliseconds from the new primary to the first served request. */
  async function servedAgainAfterMs(gateway: GatewayProcess, failOver: () => Promise<void>): Promise<number> {
    const load = new ChatLoad(CALLERS, () => ({ url: gateway.url, key: customer.key, body: chatBody('tokens=5') }));
    const served = (): Exchange[] => load.exchanges.filter(({ outcome }) => outcome === 'complete');
    await until('requests before the failover', 30_000, () => served().length >= CALLS_BEFORE);
    await failOver();
    const newAtMs = performance.now();
    const isAfter = ({ endedAtMs }: Exchange): boolean => endedAtMs > newAtMs;
    await until('a request after the failover', 2_000, () => served().some(isAfter));
    const waitMs =
      Math.min(
        ...served()
          .filter(isAfter)
          .map(({ endedAtMs }) => endedAtMs),
      ) - newAtMs;
    await until('more of them', 30_000, () => served().filter(isAfter).length >= CALLS_BEFORE);
    report('failover of Redis', { servedAgainAfterMs: Math.round(waitMs), ...summarize(await load.stop()) });
    expect(await gateway.probe()).toBe(200);
    expect(gateway.log.match(/"limits_unavailable"/g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(await operator.violations()).toEqual([]);
    return waitMs;
  }

  it('with the socket to the demoted primary open: requests spend again within 2 s', async () => {
    const address = await FaultProxy.start(primary.url);
    const gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: address.url,
      environment: { MOCK_PROVIDER: 'true' },
    });
    const waitMs = await servedAgainAfterMs(gateway, async () => {
      await replica.client.replicaof('NO', 'ONE');
      address.redirect(replica.url);
      await primary.client.replicaof('127.0.0.1', replica.port);
    });
    expect(waitMs).toBeLessThan(allowedMs(2_000));
    await gateway.stop();
    await address.close();
  });

  it('by Sentinel, after the primary was killed: requests spend again within 2 s of the new primary', async () => {
    const sentinels = await Promise.all(
      Array.from({ length: 3 }, () =>
        RedisServer.start(
          [
            `sentinel monitor ${PRIMARY_NAME} 127.0.0.1 ${primary.port} 2`,
            `sentinel down-after-milliseconds ${PRIMARY_NAME} 1000`,
            // On a busy machine 5 s end the failover halfway: the replica is promoted, but the sentinels name the dead
            // server.
            `sentinel failover-timeout ${PRIMARY_NAME} 60000`,
          ],
          'sentinel',
        ),
      ),
    );
    for (const sentinel of sentinels) {
      await until('the other sentinels and the replica', 60_000, async () => {
        const state = await sentinel.client.info('sentinel');
        return state.includes('slaves=1,sentinels=3');
      });
    }
    const gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: `redis://${PRIMARY_NAME}`,
      environment: {
        MOCK_PROVIDER: 'true',
        REDIS_MODE: 'sentinel',
        REDIS_NODES: sentinels.map(({ port }) => `127.0.0.1:${port}`).join(','),
      },
    });
    const waitMs = await servedAgainAfterMs(gateway, async () => {
      await primary.kill();
      for (const { client } of sentinels) {
        await until('the name of the new primary', 30_000, async () => {
          const [, port] = (await client.call('sentinel', 'get-master-addr-by-name', PRIMARY_NAME)) as string[];
          return port === String(replica.port);
        });
      }
    });
    expect(waitMs).toBeLessThan(allowedMs(2_000));
    await gateway.stop();
    await Promise.all(sentinels.map((sentinel) => sentinel.remove()));
  });
});
