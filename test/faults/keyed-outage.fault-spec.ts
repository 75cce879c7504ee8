import { setTimeout as delay } from 'node:timers/promises';
import { endChildren } from '../harness/child-process';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { createCatalog } from '../harness/upstream-models';
import { until } from './figures';
import { bodyOf, COST_MICRO, CountingUpstream, type KeyedCall, send, sendUntilAnswered } from './keyed-calls';
import { type Customer, Operator } from './operator';
import { PostgresProcess } from './postgres-process';

/** Time between the request and its response, in which PostgreSQL is killed. */
const UPSTREAM_MS = 2_000;
/** Length of the outage after the responses: more than 5 s, less than the charge timeout of a caller. */
const AWAY_AFTER_ANSWERS_MS = 6_500;
const CALLS = 6;

describe('keyed responses that arrive while PostgreSQL is unavailable for more than 5 s', () => {
  const catalog = createCatalog();
  let postgres: PostgresProcess;
  let operator: Operator;
  let customer: Customer;
  let upstream: CountingUpstream;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    postgres = await PostgresProcess.create();
    upstream = await CountingUpstream.start(UPSTREAM_MS);
    gateway = await GatewayProcess.start({
      databaseUrl: postgres.url,
      redisUrl: createTestRedis().url,
      catalogDir: catalog.path,
      environment: { OPENAI_COMPATIBLE_BASE_URL: upstream.baseUrl },
    });
    operator = await Operator.connect(postgres.url);
    customer = await operator.customer();
  });
  afterAll(async () => {
    await operator.close();
    await gateway.stop();
    await upstream.stop();
    await postgres.remove();
    await endChildren();
    catalog.remove();
  });

  const callOf = (call: number): KeyedCall => ({
    url: gateway.url,
    key: customer.key,
    idempotencyKey: `call-${call}`,
    body: bodyOf(`call ${call}`, call % 2 === 1),
  });

  it('are charged once, and every charged response is replayed', async () => {
    const calls = Array.from({ length: CALLS }, (_, call) => callOf(call));
    const replies = Promise.all(calls.map(send));
    await until('all calls at the provider', 30_000, () => upstream.asked.size === CALLS);
    await postgres.killEverything();
    await delay(UPSTREAM_MS + AWAY_AFTER_ANSWERS_MS);
    await postgres.start();
    const first = await replies;

    const retries = await Promise.all(calls.map((call) => sendUntilAnswered(call, 60_000)));
    for (const [call, { status, text }] of first.entries()) {
      if (status !== 200 || text.includes('"error"')) continue;
      expect(retries[call]).toMatchObject({ replayed: true, text });
    }
    await until('the end of all holds', 35_000, async () => (await operator.heldCount()) === 0);
    // On a slow machine a caller can be refused before PostgreSQL returns: then its response was not charged.
    const charges = await operator.charges(customer.organizationId);
    expect([...charges.values()]).toEqual(Array.from({ length: CALLS }, () => COST_MICRO));
    expect(await operator.violations()).toEqual([]);
  });
});
