import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody, type ChatCall, ChatLoad, type Exchange, summarize } from './chat-load';
import { allowedMs, FULL, report, until } from './figures';
import { type Customer, Operator } from './operator';
import { PostgresProcess } from './postgres-process';

/** How long PostgreSQL stays away after each kill. */
const KILL_PAUSES_MS = FULL ? [0, 100, 500, 1_000, 3_000, 5_000] : [0, 3_000];
/** Longer than a request waits for its charge to be committed. */
const LONG_OUTAGE_MS = 11_500;
const CALLERS = 48;
const LOAD_MS = 1_500;
const RECOVERY_WITHIN_MS = 2_000;
/** How long the load goes on after everything has to be well again. */
const AFTERMATH_MS = 500;
const LONGEST_ANSWER_MS = 12_000;

interface Outage {
  readonly exchanges: readonly Exchange[];
  /** From the moment at which PostgreSQL accepted again to the first 200. */
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

  function nextCall(turn: number): ChatCall {
    const bodies = [
      chatBody('delay=0'),
      chatBody('chunks=20 delay=10ms', { stream: true }),
      chatBody('first_token=20ms'),
    ];
    return { url: gateway.url, key: customer.key, body: bodies[turn % bodies.length] as object };
  }

  /** Load, an outage in the midst of it, load again. */
  async function outage(fail: () => Promise<void>, awayMs: number): Promise<Outage> {
    const load = new ChatLoad(CALLERS, nextCall);
    await delay(LOAD_MS + Math.random() * 300);
    await fail();
    await delay(awayMs);
    await postgres.start();
    const acceptedAtMs = performance.now();
    const probes: Exchange[] = [];
    const recoveryMs = await until('the first 200', 10_000, async () => {
      probes.push(await chat(nextCall(0)));
      return probes.at(-1)?.outcome === 'complete';
    });
    await delay(RECOVERY_WITHIN_MS - (performance.now() - acceptedAtMs) + AFTERMATH_MS);
    const isAfter = ({ startedAtMs }: Exchange): boolean => startedAtMs > acceptedAtMs + RECOVERY_WITHIN_MS;
    // A machine that stands still for as long as the load goes on would leave nothing to look at.
    await until('answers after that', 10_000, () =>
      load.exchanges.some((each) => isAfter(each) && each.outcome === 'complete'),
    );
    const exchanges = [...probes, ...(await load.stop())];
    const after = exchanges.filter(isAfter);
    // A machine that is busy with other tests may turn some away also then.
    expect(Object.keys(summarize(after)).filter((kind) => FULL || kind !== '503 service_unavailable')).toEqual([
      'complete',
    ]);
    return { exchanges, recoveryMs };
  }

  /** The books against what clients were told. */
  async function compare(all: readonly Exchange[]): Promise<{ lost: number; ghosts: number; unseen: number }> {
    await until('the end of all holds', 35_000, async () => (await operator.heldCount()) === 0);
    const charges = await operator.charges(customer.organizationId);
    const known = new Set(all.map(({ requestId }) => requestId));
    const told = (outcome: string): Exchange[] => all.filter((exchange) => exchange.outcome === outcome);
    return {
      lost: told('complete').filter(({ requestId, costMicro }) => charges.get(requestId ?? '') !== costMicro).length,
      // A stream that fails has delivered something, and that is charged.
      ghosts: told('refused').filter(({ streamed, requestId }) => !streamed && charges.has(requestId ?? '')).length,
      unseen: [...charges.keys()].filter((requestId) => !known.has(requestId)).length,
    };
  }

  /** In a stream that has begun, the refusal is an event. */
  function expectHonestAnswers(all: readonly Exchange[]): void {
    const others = Object.keys(summarize(all)).filter((kind) => !/^(200|503) service_unavailable$/.test(kind));
    expect(others).toEqual(['complete']);
  }

  /** What has to hold in every outage. */
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
      KILL_PAUSES_MS.map((awayMs) => () => outage(() => postgres.killEverything(), awayMs)),
    );
  }, 300_000);

  it('answers 200 or 503 through a restart', async () => {
    await expectSoundOutages('F-10', [() => outage(() => postgres.stop(), 0)]);
  });

  it('charges nobody who was told that it is unavailable, also after an outage longer than patience', async () => {
    await expectSoundOutages('F-11, long', [() => outage(() => postgres.stop(), LONG_OUTAGE_MS)]);
  });
});
