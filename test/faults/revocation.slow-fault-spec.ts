import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess, type GatewayProcessSettings, runCommand } from '../harness/gateway-process';
import { chat, chatBody, ChatLoad, type Exchange, summarize } from './chat-load';
import { allowedMs, report, until } from './figures';
import { type Customer, Operator } from './operator';
import { RedisProcess } from './redis-process';

const CALLERS_PER_CUSTOMER = 6;

interface Change {
  readonly name: string;
  readonly refusal: string;
  command(customer: Customer): string[];
}

const CHANGES: readonly Change[] = [
  { name: 'revoke', refusal: '401 key_revoked', command: ({ keyId }) => ['key', 'revoke', '--key', keyId] },
  { name: 'disable', refusal: '401 key_disabled', command: ({ keyId }) => ['key', 'disable', '--key', keyId] },
  {
    name: 'suspend',
    refusal: '403 ip_not_allowed',
    command: ({ organizationId }) => ['org', 'suspend', '--org', organizationId],
  },
];

describe('a key at two gateways that is revoked or disabled, or whose organization is suspended', () => {
  let database: TestDatabase;
  let operator: Operator;
  let redis: RedisProcess;
  let settings: GatewayProcessSettings;
  let gateways: GatewayProcess[];

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    redis = await RedisProcess.start();
    settings = { databaseUrl: database.url, redisUrl: redis.url };
    gateways = await Promise.all([GatewayProcess.start(settings), GatewayProcess.start(settings)]);
  });
  afterAll(async () => {
    await endChildren();
    await redis.stop();
    await operator.close();
    await database.drop();
  });

  /** Outcomes of requests sent after both gateways had refused one, or more than `graceMs` after the command. */
  async function changeUnderLoad(
    change: Change,
    graceMs: number,
    isAccepted: (exchange: Exchange) => boolean,
  ): Promise<{ late: Exchange[]; lastAcceptedMs: number }> {
    const customer = await operator.customer();
    const load = new ChatLoad(CALLERS_PER_CUSTOMER, (index) => ({
      url: (gateways[index % gateways.length] as GatewayProcess).url,
      key: customer.key,
      body: chatBody('first_token=10ms'),
    }));
    await until('accepted requests', 10_000, () => load.exchanges.filter(isAccepted).length > CALLERS_PER_CUSTOMER);
    const { code } = await runCommand(settings, ...change.command(customer));
    const returnedAtMs = performance.now();
    expect(code).toBe(0);
    await until('the refusal by both', graceMs, async () => {
      const call = (url: string) => chat({ url, key: customer.key, body: chatBody('delay=0') });
      const everywhere = await Promise.all(gateways.map(({ url }) => call(url)));
      return summarize(everywhere)[change.refusal] === gateways.length;
    });
    const refusedAtMs = performance.now();
    await until('more requests', 10_000, () => {
      const since = load.exchanges.filter(({ startedAtMs }) => startedAtMs > refusedAtMs);
      return since.length > 4 * CALLERS_PER_CUSTOMER;
    });
    const exchanges = await load.stop();
    const accepted = exchanges.filter(isAccepted);
    return {
      late: exchanges.filter(
        ({ startedAtMs }) => startedAtMs > Math.min(refusedAtMs, returnedAtMs + allowedMs(graceMs)),
      ),
      lastAcceptedMs: Math.max(...accepted.map(({ startedAtMs }) => startedAtMs - returnedAtMs)),
    };
  }

  it('is refused by both within a second', async () => {
    const results = await Promise.all(
      CHANGES.map((change) => changeUnderLoad(change, 1_000, ({ outcome }) => outcome === 'complete')),
    );
    results.forEach(({ late, lastAcceptedMs }, index) => {
      const { name, refusal } = CHANGES[index] as Change;
      report(`F-65 ${name}`, { lastAcceptedMs: Math.round(lastAcceptedMs), refused: late.length });
      expect(summarize(late)).toEqual({ [refusal]: late.length });
      expect(late.length).toBeGreaterThan(0);
    });
  });

  it('is refused by both within five seconds when Redis cannot deliver the invalidation', async () => {
    await redis.stop();
    // Without Redis every request fails at the limits, but by then its key was accepted.
    const results = await Promise.all(
      CHANGES.map((change) => changeUnderLoad(change, 5_000, ({ code }) => code === 'service_unavailable')),
    );
    results.forEach(({ late, lastAcceptedMs }, index) => {
      const { name, refusal } = CHANGES[index] as Change;
      report(`F-65 ${name} without Redis`, { lastAcceptedMs: Math.round(lastAcceptedMs), refused: late.length });
      expect(summarize(late)).toEqual({ [refusal]: late.length });
      expect(late.length).toBeGreaterThan(0);
    });
    const customer = await operator.customer();
    const everywhere = await Promise.all(
      gateways.map(({ url }) => chat({ url, key: customer.key, body: chatBody('delay=0') })),
    );
    expect(summarize(everywhere)).toEqual({ '503 service_unavailable': gateways.length });
  });
});
