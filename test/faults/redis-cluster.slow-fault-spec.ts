import { clusterKeys } from '../../src/auth/rate-limits/limit-keys';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { QUICK_FAILOVER_MS, RedisCluster } from '../harness/redis-cluster';
import { REDIS_IS_INSTALLED, type RedisServer } from '../harness/redis-servers';
import { chatBody, ChatLoad, type Exchange, summarize } from './chat-load';
import { allowedMs, report, until } from './figures';
import { type Customer, Operator } from './operator';

const CALLERS = 4;
const LIMIT_PER_MINUTE = 400;
const CALLS_BEFORE = 30;
const MINUTE_MS = 60_000;

const whenInstalled = REDIS_IS_INSTALLED ? describe : describe.skip;

whenInstalled('a gateway on a Redis Cluster (skipped where redis-server is not installed)', () => {
  let database: TestDatabase;
  let operator: Operator;
  let cluster: RedisCluster;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
  });
  beforeEach(async () => {
    cluster = await RedisCluster.start(QUICK_FAILOVER_MS);
    gateway = await GatewayProcess.start({
      databaseUrl: database.url,
      redisUrl: cluster.url,
      environment: { MOCK_PROVIDER: 'true', ...cluster.environment },
    });
  });
  afterEach(async () => {
    await gateway.stop();
    await cluster.remove();
  });
  afterAll(async () => {
    await operator.close();
    await endChildren();
    await database.drop();
  });

  const limitSlotOf = ({ organizationId }: Customer): Promise<number> =>
    cluster.slotOf(clusterKeys('')({ scope: 'organization', id: organizationId, organizationId }));

  const limitedCustomer = (): Promise<Customer> =>
    operator.customer(1_000_000_000n, { requestsPerMinute: LIMIT_PER_MINUTE, concurrency: 2 * CALLERS });

  function loadOf({ key }: Customer): ChatLoad {
    return new ChatLoad(CALLERS, () => ({ url: gateway.url, key, body: chatBody('tokens=5') }));
  }

  const servedBy = (load: ChatLoad): readonly Exchange[] =>
    load.exchanges.filter(({ outcome }) => outcome === 'complete');

  /** Requests that started within any minute. A client sees a request end later than the limit counted it. */
  function mostInAMinute(exchanges: readonly Exchange[]): number {
    const startsMs = exchanges.map(({ startedAtMs }) => startedAtMs).toSorted((one, other) => one - other);
    const countFrom = (start: number): number =>
      exchanges.filter(({ startedAtMs, endedAtMs }) => startedAtMs >= start && endedAtMs < start + MINUTE_MS).length;
    return Math.max(...startsMs.map(countFrom));
  }

  it('serves again within 2 s of the new primary when one was killed, and never one request above a limit', async () => {
    const customer = await limitedCustomer();
    const slot = await limitSlotOf(customer);
    const primary: RedisServer = await cluster.ownerOf(slot);
    const load = loadOf(customer);
    await until('requests before the failure', 30_000, () => servedBy(load).length >= CALLS_BEFORE);

    await primary.kill();
    const killedAtMs = performance.now();
    await until('a new primary', 30_000, async () => {
      const owner = await cluster.ownerOf(slot);
      return owner !== primary && (await owner.isPrimary());
    });
    const newAtMs = performance.now();
    const after = (): readonly Exchange[] => servedBy(load).filter(({ endedAtMs }) => endedAtMs > newAtMs);
    await until('a request after the failure', 2_000, () => after().length > 0);
    const firstAtMs = Math.min(...after().map(({ endedAtMs }) => endedAtMs));
    await until('the limit', 60_000, () => load.exchanges.some(({ status }) => status === 429));
    const exchanges = await load.stop();

    report('a primary of a Redis Cluster killed', {
      replacedAfterMs: Math.round(newAtMs - killedAtMs),
      servedAfterReplacementMs: Math.round(firstAtMs - newAtMs),
      ...summarize(exchanges),
    });
    expect(firstAtMs - newAtMs).toBeLessThan(allowedMs(2_000));
    expect(mostInAMinute(servedBy(load))).toBeLessThanOrEqual(LIMIT_PER_MINUTE);
    expect(exchanges.filter(({ outcome }) => outcome === 'broken' || outcome === 'hung')).toEqual([]);
    const statuses = new Set(exchanges.map(({ status }) => status));
    expect([...statuses].filter((status) => ![200, 429, 503].includes(status))).toEqual([]);
    expect(await operator.violations()).toEqual([]);
  });

  it('serves while a slot moves between nodes, and never one request above a limit', async () => {
    const customer = await limitedCustomer();
    const load = loadOf(customer);
    await until('requests before the move', 30_000, () => servedBy(load).length >= CALLS_BEFORE);
    await cluster.move(await limitSlotOf(customer), async () => undefined);
    const movedAtMs = performance.now();
    const after = (): readonly Exchange[] => servedBy(load).filter(({ endedAtMs }) => endedAtMs > movedAtMs);
    await until('requests after the move', 30_000, () => after().length >= CALLS_BEFORE);
    await until('the limit', 60_000, () => load.exchanges.some(({ status }) => status === 429));
    report('a slot of a Redis Cluster moved', summarize(await load.stop()));
    expect(mostInAMinute(servedBy(load))).toBeLessThanOrEqual(LIMIT_PER_MINUTE);
    expect(gateway.log).not.toContain('CROSSSLOT');
    expect(await operator.violations()).toEqual([]);
  });
});
