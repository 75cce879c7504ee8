import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { FaultProxy } from '../harness/fault-proxy';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chat, chatBody, type Exchange, summarize } from './chat-load';
import { allowedMs, FULL, report, until } from './figures';
import { type Customer, Operator } from './operator';

const HANG_MS = FULL ? 10_000 : 4_000;
/** Requests arrive whether or not earlier ones were answered: a load that waits would hide a growing queue. */
const ARRIVALS_EVERY_MS = 10;
const LOAD_BEFORE_MS = 1_000;
const REFUSED_WITHIN_MS = 2_500;
const LONGEST_QUEUE = 2_000;
const LOOP_P99_MS = 100;
const RECOVERY_WITHIN_MS = 2_000;
/** How long the load continues after the expected recovery. */
const AFTERMATH_MS = 500;

describe('F-12: a gateway whose PostgreSQL hangs', () => {
  let database: TestDatabase;
  let wire: FaultProxy;
  let operator: Operator;
  let customer: Customer;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    wire = await FaultProxy.start(database.url);
    gateway = await GatewayProcess.start({ databaseUrl: wire.url, redisUrl: createTestRedis().url });
    operator = await Operator.connect(database.url);
    customer = await operator.customer();
  });
  afterAll(async () => {
    wire.heal();
    await operator.close();
    await endChildren();
    await wire.close();
    await database.drop();
  });

  /** Open-loop load until `stop`. */
  function arrivals(): { stop(): Promise<Exchange[]>; mostWaiting(): number; readonly ended: readonly Exchange[] } {
    const all: Promise<Exchange>[] = [];
    const ended: Exchange[] = [];
    let [waiting, most] = [0, 0];
    const bodies = [chatBody('delay=0'), chatBody('chunks=20 delay=10ms', { stream: true })];
    const timer = setInterval(() => {
      most = Math.max(most, ++waiting);
      const body = bodies[all.length % bodies.length] as object;
      const exchange = chat({ url: gateway.url, key: customer.key, body }).finally(() => waiting--);
      void exchange.then((each) => ended.push(each));
      all.push(exchange);
    }, ARRIVALS_EVERY_MS);
    return {
      ended,
      mostWaiting: () => most,
      stop: () => {
        clearInterval(timer);
        return Promise.all(all);
      },
    };
  }

  /** Latency of `/health`, which uses no server: the delay of the event loop. */
  function watchLoop(): { stop(): Promise<number> } {
    const times: number[] = [];
    const watch = { on: true };
    const watching = (async () => {
      while (watch.on) {
        const startedAtMs = performance.now();
        await (await fetch(`${gateway.url}/health`)).text();
        times.push(performance.now() - startedAtMs);
        await delay(5);
      }
    })();
    return {
      stop: async () => {
        watch.on = false;
        await watching;
        return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? NaN;
      },
    };
  }

  it('refuses within 2.5 s, stays responsive, queues little, and recovers by itself within 2 s', async () => {
    const load = arrivals();
    await delay(LOAD_BEFORE_MS);
    const loop = watchLoop();
    const hungAtMs = performance.now();
    wire.fail('both', { hang: true });
    await delay(HANG_MS);
    wire.heal();
    const healedAtMs = performance.now();
    const probes: Exchange[] = [];
    const recoveryMs = await until('the first 200', 10_000, async () => {
      probes.push(await chat({ url: gateway.url, key: customer.key, body: chatBody('delay=0') }));
      return probes.at(-1)?.outcome === 'complete';
    });
    await delay(RECOVERY_WITHIN_MS - (performance.now() - healedAtMs) + AFTERMATH_MS);
    const isAfter = ({ startedAtMs }: Exchange): boolean => startedAtMs > healedAtMs + RECOVERY_WITHIN_MS;
    // A machine that stalls for the whole load would leave no data.
    await until('answers after that', 10_000, () =>
      load.ended.some((each) => isAfter(each) && each.outcome === 'complete'),
    );
    const loopP99Ms = Math.round(await loop.stop());
    const exchanges = await load.stop();

    const during = exchanges.filter(({ startedAtMs }) => startedAtMs > hungAtMs && startedAtMs < healedAtMs - 100);
    const refused = during.filter(({ status }) => status === 503);
    const slowestRefusalMs = Math.round(Math.max(...refused.map((each) => each.endedAtMs - each.startedAtMs)));
    // A busy machine can refuse some requests then, too.
    const after = exchanges.filter(isAfter);
    const figures = {
      slowestRefusalMs,
      mostWaiting: load.mostWaiting(),
      loopP99Ms,
      recoveryMs: Math.round(recoveryMs),
    };
    report('F-12', { ...figures, during: summarize(during), all: summarize(exchanges) });

    // A started stream is refused within the stream.
    const kinds = Object.keys(summarize([...exchanges, ...probes]));
    expect(kinds.filter((kind) => !/^(complete|(200|503) service_unavailable)$/.test(kind))).toEqual([]);
    expect(refused.length).toBeGreaterThan(FULL ? during.length / 2 : 0);
    expect(slowestRefusalMs).toBeLessThanOrEqual(allowedMs(REFUSED_WITHIN_MS));
    expect(load.mostWaiting()).toBeLessThanOrEqual(LONGEST_QUEUE);
    // A process without CPU time looks like one with a blocked event loop.
    expect(loopP99Ms).toBeLessThanOrEqual(FULL ? LOOP_P99_MS : Infinity);
    expect(recoveryMs).toBeLessThanOrEqual(allowedMs(RECOVERY_WITHIN_MS));
    expect(Object.keys(summarize(after)).filter((kind) => FULL || kind !== '503 service_unavailable')).toEqual([
      'complete',
    ]);
    await expectSoundBooks([...exchanges, ...probes]);
  });

  /** Every reported cost was charged; a request refused before its response started was not. */
  async function expectSoundBooks(exchanges: readonly Exchange[]): Promise<void> {
    await until('the end of all holds', 35_000, async () => (await operator.heldCount()) === 0);
    const charges = await operator.charges(customer.organizationId);
    const chargeOf = ({ requestId }: Exchange): number | undefined => charges.get(requestId ?? '');
    const wrong = exchanges.filter((each) =>
      each.outcome === 'complete'
        ? chargeOf(each) !== each.costMicro
        : each.status === 503 && chargeOf(each) !== undefined,
    );
    expect(wrong).toEqual([]);
    expect(await operator.violations()).toEqual([]);
  }
});
