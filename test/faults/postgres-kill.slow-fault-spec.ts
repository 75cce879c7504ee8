import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody, type ChatCall, ChatLoad, type Exchange, summarize } from './chat-load';
import { allowedMs, FULL, report, until } from './figures';
import { type Customer, Operator } from './operator';
import { PostgresProcess } from './postgres-process';

/** Length of the outage after each kill. */
const KILL_PAUSES_MS = FULL ? [0, 100, 500, 1_000, 3_000, 5_000] : [0, 3_000];
/** Longer than a request waits for its charge to be committed. */
const LONG_OUTAGE_MS = 11_500;
const CALLERS = 48;
const LOAD_MS = 1_500;
const RECOVERY_WITHIN_MS = 2_000;
/** How long the load continues after the expected recovery. */
const AFTERMATH_MS = 500;
const LONGEST_ANSWER_MS = 12_000;

interface Outage {
  readonly exchanges: readonly Exchange[];
  /** From the moment when PostgreSQL accepts connections again to the first 200. */
  readonly recoveryMs: number;
}

describe('a gateway whose PostgreSQL fails under load', () => {
  let postgres: PostgresProcess;
  let operator: Operator;
  let customer: Customer;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    postgres = await PostgresProcess.create();
    gateway = await GatewayProcess.start({ databaseUrl: postgres.url, redisUrl: createTestRedis().url });
    operator = await Operator.connect(postgres.url);
  });

  beforeEach(async () => {
    customer = await operator.customer();
  });

  afterAll(async () => {
    await operator.close();
    await gateway.stop();
    await postgres.remove();
    await endChildren();
  });

  function nextCall(index: number): ChatCall {
    const bodies = [
      chatBody('delay=0'),
      chatBody('chunks=20 delay=10ms', { stream: true }),
      chatBody('first_token=20ms'),
    ];
    return { url: gateway.url, key: customer.key, body: bodies[index % bodies.length] as object };
  }

  /** Load with an outage in the middle. */
  async function outage(fail: () => Promise<void>, outageMs: number): Promise<Outage> {
    const load = new ChatLoad(CALLERS, nextCall);
    await delay(LOAD_MS + Math.random() * 300);
    await fail();
    await delay(outageMs);
    await postgres.start();
    const acceptedAtMs = performance.now();
    const probes: Exchange[] = [];
    const recoveryMs = await until('the first 200', 10_000, async () => {
      probes.push(await chat(nextCall(0)));
      return probes.at(-1)?.outcome === 'complete';
    });
    await delay(RECOVERY_WITHIN_MS - (performance.now() - acceptedAtMs) + AFTERMATH_MS);
    const isAfter = ({ startedAtMs }: Exchange): boolean => startedAtMs > acceptedAtMs + RECOVERY_WITHIN_MS;
    // A machine that stalls for the whole load would leave no data.
    await until('answers after that', 10_000, () =>
      load.exchanges.some((each) => isAfter(each) && each.outcome === 'complete'),
    );
    const exchanges = [...probes, ...(await load.stop())];
    const after = exchanges.filter(isAfter);
    // A busy machine can refuse some requests then, too.
    expect(Object.keys(summarize(after)).filter((kind) => FULL || kind !== '503 service_unavailable')).toEqual([
      'complete',
    ]);
    return { exchanges, recoveryMs };
  }

  /** Compares the ledger with the clients' results. */
  async function compare(all: readonly Exchange[]): Promise<{ lost: number; ghosts: number; unseen: number }> {
    await until('the end of all holds', 35_000, async () => (await operator.heldCount()) === 0);
    const charges = await operator.charges(customer.organizationId);
    const known = new Set(all.map(({ requestId }) => requestId));
    const withOutcome = (outcome: string): Exchange[] => all.filter((exchange) => exchange.outcome === outcome);
    return {
      lost: withOutcome('complete').filter(({ requestId, costMicro }) => charges.get(requestId ?? '') !== costMicro)
        .length,
      // A failed stream has delivered a part, which is charged.
      ghosts: withOutcome('refused').filter(({ streamed, requestId }) => !streamed && charges.has(requestId ?? ''))
        .length,
      unseen: [...charges.keys()].filter((requestId) => !known.has(requestId)).length,
    };
  }

  /** In a started stream, the refusal is an event. */
  function expectHonestAnswers(all: readonly Exchange[]): void {
    const others = Object.keys(summarize(all)).filter((kind) => !/^(200|503) service_unavailable$/.test(kind));
    expect(others).toEqual(['complete']);
  }

  /** Invariants of every outage. */
  async function expectSoundOutages(subject: string, outages: readonly (() => Promise<Outage>)[]): Promise<void> {
    const all: Exchange[] = [];
    const recoveriesMs: number[] = [];
    for (const begin of outages) {
      const { exchanges, recoveryMs } = await begin();
      all.push(...exchanges);
      recoveriesMs.push(Math.round(recoveryMs));
    }
    const books = await compare(all);
    const slowestMs = Math.round(Math.max(...all.map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs)));
    report(subject, { outages: outages.length, clients: summarize(all), books, recoveriesMs, slowestMs });
    expectHonestAnswers(all);
    expect(slowestMs).toBeLessThan(allowedMs(LONGEST_ANSWER_MS));
    expect(books).toEqual({ lost: 0, ghosts: 0, unseen: 0 });
    expect(Math.max(...recoveriesMs)).toBeLessThanOrEqual(allowedMs(RECOVERY_WITHIN_MS));
    expect(await operator.violations()).toEqual([]);
  }

  it(`answers 200 or 503, loses and invents no charge, through ${KILL_PAUSES_MS.length} times kill -9`, async () => {
    await expectSoundOutages(
      'F-11',
      KILL_PAUSES_MS.map((outageMs) => () => outage(() => postgres.killEverything(), outageMs)),
    );
  }, 300_000);

  it('answers 200 or 503 through a restart', async () => {
    await expectSoundOutages('F-10', [() => outage(() => postgres.stop(), 0)]);
  });

  it('charges no request that got 503, also after an outage longer than the charge timeout', async () => {
    await expectSoundOutages('F-11, long', [() => outage(() => postgres.stop(), LONG_OUTAGE_MS)]);
  });
});
