import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { createCatalog } from '../harness/upstream-models';
import { FULL, report } from './figures';
import { bodyOf, COST_MICRO, CountingUpstream, type KeyedReply, sendUntilServed } from './keyed-calls';
import { type Customer, Operator } from './operator';

const TWINS = FULL ? 1_000 : 200;
const TWINS_OF_TWO_BODIES = FULL ? 500 : 100;

describe('concurrent requests with one key at two gateways', () => {
  const catalog = createCatalog();
  let database: TestDatabase;
  let operator: Operator;
  let customer: Customer;
  let upstream: CountingUpstream;
  let gateways: GatewayProcess[];

  beforeAll(async () => {
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    upstream = await CountingUpstream.start(300);
    const settings = {
      databaseUrl: database.url,
      redisUrl: createTestRedis().url,
      catalogDir: catalog.path,
      environment: { OPENAI_COMPATIBLE_BASE_URL: upstream.baseUrl },
    };
    gateways = await Promise.all([GatewayProcess.start(settings), GatewayProcess.start(settings)]);
  });
  beforeEach(async () => {
    customer = await operator.customer();
  });
  afterAll(async () => {
    await endChildren();
    await upstream.stop();
    await operator.close();
    await database.drop();
    catalog.remove();
  });

  const sendTo = (index: number, idempotencyKey: string, body: object): Promise<KeyedReply> =>
    sendUntilServed({
      url: (gateways[index % gateways.length] as GatewayProcess).url,
      key: customer.key,
      idempotencyKey,
      body,
    });

  async function charges(): Promise<number[]> {
    return [...(await operator.charges(customer.organizationId)).values()];
  }

  it.each([
    ['whole', false],
    ['streamed', true],
  ])(`make one upstream call and one charge for ${TWINS} requests, answered %s`, async (title, streamed) => {
    const body = bodyOf(`twins ${title}`, streamed);
    const startedAtMs = performance.now();
    const replies = await Promise.all(Array.from({ length: TWINS }, (_, index) => sendTo(index, title, body)));
    const tookMs = Math.round(performance.now() - startedAtMs);

    const [first, ...more] = replies.filter(({ status, replayed }) => status === 200 && !replayed);
    expect(more).toEqual([]);
    const replays = replies.filter(({ replayed }) => replayed);
    const conflicts = replies.filter(({ status }) => status === 409);
    expect(replays.length + conflicts.length).toBe(TWINS - 1);
    expect(replays.every(({ text }) => text === first?.text)).toBe(true);
    for (const { retryAfter } of conflicts) expect([1, 2]).toContain(retryAfter);

    const late = await Promise.all(conflicts.map((_, index) => sendTo(index, title, body)));
    expect(late.every(({ status, replayed, text }) => status === 200 && replayed && text === first?.text)).toBe(true);
    expect(upstream.asked.get(`twins ${title}`)).toBe(1);
    expect(await charges()).toEqual([COST_MICRO]);
    report(`F-20b ${title}`, { twins: TWINS, tookMs, replays: replays.length, conflicts: conflicts.length });
  });

  it(`with two bodies: one body of ${TWINS_OF_TWO_BODIES} requests wins, the other gets a final 409`, async () => {
    const bodies = [bodyOf('this'), bodyOf('that')];
    const bodyAt = (index: number) => bodies[(index >> 1) % 2] as object;
    const replies = await Promise.all(
      Array.from({ length: TWINS_OF_TWO_BODIES }, (_, index) => sendTo(index, 'halves', bodyAt(index))),
    );
    const winner = replies.findIndex(({ status }) => status === 200);
    const winning = bodyAt(winner);
    for (const [index, { status, text, retryAfter }] of replies.entries()) {
      if (bodyAt(index) === winning && status === 200) expect(text).toBe(replies[winner]?.text);
      else expect(status).toBe(409);
      expect(retryAfter === null).toBe(status === 200 || bodyAt(index) !== winning);
    }
    const asked = ['this', 'that'].map((text) => upstream.asked.get(text) ?? 0);
    expect(asked.toSorted()).toEqual([0, 1]);

    const loser = bodies.find((body) => body !== winning) as object;
    expect(await sendTo(0, 'halves', loser)).toMatchObject({ status: 409, retryAfter: null });
    expect(await sendTo(1, 'halves', winning)).toMatchObject({ status: 200, replayed: true });
    expect(await charges()).toEqual([COST_MICRO]);
    report('F-20c', { twins: TWINS_OF_TWO_BODIES, won: replies.filter(({ status }) => status === 200).length });
  });

  it('leave a valid ledger', async () => {
    expect(await operator.violations()).toEqual([]);
  });
});
