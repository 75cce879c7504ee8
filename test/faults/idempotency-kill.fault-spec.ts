import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { FaultProxy } from '../harness/fault-proxy';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { createCatalog } from '../harness/upstream-models';
import { allowedMs, FULL, report, until } from './figures';
import { killWhen } from './kill-when';
import { bodyOf, COST_MICRO, CountingUpstream, type KeyedReply, send, sendUntilAnswered } from './keyed-calls';
import { type Customer, Operator } from './operator';

const KILLS = FULL ? 5 : 1;
const CALLS = 40;
/** Pause between the calls, so that a kill hits all phases of a request. */
const STAGGER_MS = 15;
/** Delays database responses, so that a kill falls between a commit and its acknowledgement. */
const DATABASE_LATENCY_MS = 120;
const UPSTREAM_MS = 150;
/** Number of charges at the time of the kill. */
const CHARGED_BEFORE_KILL = 8;
const TAKEN_OVER_WITHIN_MS = allowedMs(40_000);

describe('kill -9 of a gateway with keyed requests in every phase', () => {
  const catalog = createCatalog();
  let database: TestDatabase;
  let wire: FaultProxy;
  let operator: Operator;
  let customer: Customer;
  let upstream: CountingUpstream;
  let survivor: GatewayProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    wire = await FaultProxy.start(database.url);
    operator = await Operator.connect(database.url);
    customer = await operator.customer();
    upstream = await CountingUpstream.start(UPSTREAM_MS);
    survivor = await start(database.url);
  });
  afterAll(async () => {
    await endChildren();
    await wire.close();
    await upstream.stop();
    await operator.close();
    await database.drop();
    catalog.remove();
  });

  function start(databaseUrl: string): Promise<GatewayProcess> {
    return GatewayProcess.start({
      databaseUrl,
      redisUrl: createTestRedis().url,
      catalogDir: catalog.path,
      environment: { OPENAI_COMPATIBLE_BASE_URL: upstream.baseUrl },
    });
  }

  const nameOf = (kill: number, call: number) => `kill ${kill} call ${call}`;
  const callOf = (kill: number, call: number, gateway: GatewayProcess) => ({
    url: gateway.url,
    key: customer.key,
    idempotencyKey: nameOf(kill, call).replaceAll(' ', '-'),
    body: bodyOf(nameOf(kill, call), call % 2 === 1),
  });

  async function completedKeys(kill: number): Promise<string[]> {
    const rows = await operator.rows<{ key: string }>(
      `SELECT key FROM idempotency_record WHERE state = 'completed' AND key LIKE $1`,
      [`kill-${kill}-%`],
    );
    return rows.map(({ key }) => key.replaceAll('-', ' '));
  }

  /** The responses of a gateway that was killed under load. */
  async function killInTheMidst(kill: number): Promise<KeyedReply[]> {
    const victim = await start(wire.url);
    wire.fail('toClient', { latencyMs: DATABASE_LATENCY_MS });
    const calls: Promise<KeyedReply>[] = [];
    const answered = new Set<string>();
    const ask = async (call: number): Promise<KeyedReply> => {
      const reply = await send(callOf(kill, call, victim));
      answered.add(nameOf(kill, call));
      return reply;
    };
    const killed = killWhen('an unacknowledged charge', victim.child, async () => {
      const charged = await completedKeys(kill);
      return charged.length >= CHARGED_BEFORE_KILL && charged.some((name) => !answered.has(name));
    });
    for (let call = 0; call < CALLS; call++) {
      calls.push(ask(call));
      await delay(STAGGER_MS);
    }
    await killed;
    wire.heal();
    return Promise.all(calls);
  }

  it.each(Array.from({ length: KILLS }, (_, kill) => kill))(
    'charges each key once and replays charged responses, whatever their phase (%d)',
    async (kill) => {
      const seen = await killInTheMidst(kill);
      const charged = new Set(await completedKeys(kill));
      const unanswered = [...charged].filter((name) => seen[Number(name.split(' ').at(-1))]?.status === 0);
      if (!FULL) await operator.letLeasesPass();
      const retries = await Promise.all(
        seen.map((_, call) => sendUntilAnswered(callOf(kill, call, survivor), TAKEN_OVER_WITHIN_MS)),
      );

      for (const [call, retry] of retries.entries()) {
        const name = nameOf(kill, call);
        if (charged.has(name)) expect(retry.replayed).toBe(true);
        expect(upstream.asked.get(name)).toBeLessThanOrEqual(charged.has(name) ? 1 : 2);
        // A complete response was charged before, and is replayed identically.
        if (seen[call]?.status === 200) expect(retry.text).toBe(seen[call]?.text);
      }
      const all = await operator.charges(customer.organizationId);
      expect([...all.values()]).toEqual(Array(CALLS * (kill + 1)).fill(COST_MICRO));
      await until('the end of all holds', 30_000, async () => (await operator.heldCount()) === 0);
      expect(await operator.rows(`SELECT key FROM idempotency_record WHERE state = 'in_progress'`)).toEqual([]);
      expect(await operator.violations()).toEqual([]);
      expect(unanswered.length).toBeGreaterThan(0);
      report(`F-02, F-03, F-04 kill ${kill}`, {
        calls: CALLS,
        answered: seen.filter(({ status }) => status === 200).length,
        chargedAtKill: charged.size,
        chargedAndNotAnswered: unanswered.length,
        replayed: retries.filter(({ replayed }) => replayed).length,
        askedTwice: seen.filter((_, call) => (upstream.asked.get(nameOf(kill, call)) ?? 0) > 1).length,
      });
    },
    600_000,
  );
});
