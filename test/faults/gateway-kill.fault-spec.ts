import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody, type ChatCall, ChatLoad, type Exchange, summarize } from './chat-load';
import { allowedMs, FULL, report, until } from './figures';
import { killWhen } from './kill-when';
import { type Customer, Operator } from './operator';

const KILLS = FULL ? 10 : 3;
const CALLERS = 64;
/** A busy machine refuses some requests, whose clients wait before they retry. */
const LEAST_IN_FLIGHT = FULL ? CALLERS : CALLERS / 4;
const LOAD_MS = 1_500;
const FIRST_ANSWER_WITHIN_MS = allowedMs(3_000);
const RELEASED_WITHIN_MS = allowedMs(30_000);

interface Death {
  readonly owner: string;
  /** Its holds. */
  readonly ids: readonly string[];
  /** By the clock of the database. */
  readonly atMs: number;
}

describe('kill -9 of a gateway with 64 requests in flight', () => {
  let database: TestDatabase;
  let operator: Operator;
  let customer: Customer;

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    customer = await operator.customer();
  });

  afterAll(async () => {
    await endChildren();
    await operator.close();
    await database.drop();
  });

  /** Cycles through long streams, short streams and whole responses, so that a kill hits every phase of a request. */
  function nextCall(url: string, index: number): ChatCall {
    const bodies = [
      chatBody('chunks=60 delay=20ms', { stream: true }),
      chatBody('first_token=40ms'),
      chatBody('chunks=5 delay=5ms', { stream: true }),
      chatBody('delay=0'),
    ];
    return { url, key: customer.key, body: bodies[index % bodies.length] as object };
  }

  /** Enough requests in flight, and responses of each kind. */
  function isUnderWay({ exchanges, inFlight }: ChatLoad): boolean {
    const complete = exchanges.filter(({ outcome }) => outcome === 'complete');
    return inFlight >= LEAST_IN_FLIGHT && new Set(complete.map(({ streamed }) => streamed)).size === 2;
  }

  /** There is one gateway at a time, so an instance with holds that is not known as dead is the running one. */
  async function findHolder(known: readonly Death[]): Promise<Death | null> {
    const [row] = await operator.rows<Death>(
      `SELECT owner, array_agg(id) AS ids, extract(epoch FROM clock_timestamp()) * 1000 AS "atMs"
         FROM hold
        WHERE owner <> ALL ($1)
          -- Its last statements have ended, so the holds stay.
          AND NOT EXISTS (SELECT FROM pg_stat_activity
                           WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid())
        GROUP BY owner LIMIT 1`,
      [known.map(({ owner }) => owner)],
    );
    return row === undefined ? null : { ...row, atMs: Number(row.atMs) };
  }

  /** Milliseconds from the launch and from `/ready` to the first whole response. */
  async function restart(killed: GatewayProcess): Promise<{ next: GatewayProcess; figures: object; answerMs: number }> {
    const next = killed.restart();
    const readyMs = await next.ready();
    let answerMs = 0;
    await until('the first answer', FIRST_ANSWER_WITHIN_MS, async () => {
      const exchange = await chat(nextCall(next.url, 3));
      answerMs += exchange.endedAtMs - exchange.startedAtMs;
      return exchange.outcome === 'complete';
    });
    return { next, answerMs, figures: { readyMs: Math.round(readyMs), firstAnswerMs: Math.round(answerMs) } };
  }

  /** Each gateway cleans up after the previous ones, and is soon killed itself. */
  it('leaves holds that are released within 30 s and no response without a charge', async () => {
    const settings = { databaseUrl: database.url, redisUrl: createTestRedis().url };
    let victim = await GatewayProcess.start(settings);
    const exchanges: Exchange[] = [];
    const deaths: Death[] = [];

    for (let kill = 1; kill <= KILLS; kill++) {
      const load = new ChatLoad(CALLERS, (index) => nextCall(victim.url, index));
      await delay(LOAD_MS + Math.random() * 200);
      let inFlight = 0;
      await killWhen('holds of requests in flight', victim.child, async () => {
        ({ inFlight } = load);
        const holder = isUnderWay(load) ? await findHolder(deaths) : null;
        if (holder !== null) deaths.push(holder);
        return holder !== null;
      });
      exchanges.push(...(await load.stop()));
      const { next, answerMs, figures } = await restart(victim);
      victim = next;
      expect(answerMs).toBeLessThan(FIRST_ANSWER_WITHIN_MS);
      report(`F-01 kill ${kill}`, { inFlight, ...figures });
    }
    if (!FULL) await operator.letLeasesPass();
    await until('the release of all holds', RELEASED_WITHIN_MS, async () => (await operator.heldCount()) === 0);

    const orphans = await Promise.all(deaths.map((death) => readOrphans(death)));
    report('F-01', { kills: KILLS, clients: summarize(exchanges), orphans });
    for (const { count, oldestMs } of orphans) {
      expect(count).toBeLessThanOrEqual(CALLERS);
      expect(oldestMs).toBeLessThanOrEqual(RELEASED_WITHIN_MS);
    }
    await expectChargedExactly(exchanges);
    const endings = Object.keys(summarize(exchanges)).filter((ending) => FULL || ending !== '503 service_unavailable');
    expect(endings.toSorted()).toEqual(['broken', 'complete']);
    expect(await operator.violations()).toEqual([]);
  }, 600_000);

  async function readOrphans({ ids, atMs }: Death): Promise<{ count: number; oldestMs: number }> {
    const rows = await operator.rows<{ ended_at: Date }>(
      `SELECT ended_at FROM reservation WHERE id = ANY ($1) AND state = 'expired'`,
      [ids],
    );
    return { count: rows.length, oldestMs: Math.max(...rows.map((row) => row.ended_at.getTime() - atMs)) };
  }

  /** Every complete response was charged with its reported cost. */
  async function expectChargedExactly(all: readonly Exchange[]): Promise<void> {
    const charges = await operator.charges(customer.organizationId);
    const complete = all.filter(({ outcome }) => outcome === 'complete');
    const wrong = complete.filter(({ requestId, costMicro }) => charges.get(requestId ?? '') !== costMicro);
    expect(wrong).toEqual([]);
    expect(complete.some(({ streamed }) => streamed)).toBe(true);
  }
});
