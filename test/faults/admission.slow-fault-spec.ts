import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endChildren } from '../harness/child-process';
import { createTestDatabase, type TestDatabase } from '../harness/database';
import { createDataDirectory, GatewayProcess } from '../harness/gateway-process';
import { createTestRedis } from '../harness/redis';
import { chatUntilServed, type Exchange, summarize } from './chat-load';
import { FULL, report, until } from './figures';
import { type Customer, Operator } from './operator';

/** A model that charges output only, so that a request with max_tokens costs exactly its hold. */
const FIXED_PRICE_MODEL = `
- id: mock/fixed-price
  modality: text
  input_modalities: [text]
  output_modalities: [text]
  released: 2026-01-01
  context: 128000
  max_output: 16384
  features: { streaming: true }
  deployments:
    - { provider: mock, upstream_model: chat-1 }
  prices:
    - effective_from: 2026-01-01
      source: made up
      checked_at: 2026-11-20
      tokens:
        per_1m_micro: { input: 0, output: 1000000 }
`;

const COST_MICRO = 100;
const TRIALS = 20;
const REQUESTS = FULL ? 1_000 : 80;

describe('two gateway processes that share a database', () => {
  const directory = createDataDirectory();
  let database: TestDatabase;
  let operator: Operator;
  let gateways: GatewayProcess[];

  beforeAll(async () => {
    const catalogDir = join(directory.path, 'catalog');
    mkdirSync(catalogDir);
    writeFileSync(join(catalogDir, 'fixed-price.yaml'), FIXED_PRICE_MODEL);
    database = await createTestDatabase();
    operator = await Operator.connect(database.url);
    const settings = { databaseUrl: database.url, redisUrl: createTestRedis().url, catalogDir };
    gateways = await Promise.all([GatewayProcess.start(settings), GatewayProcess.start(settings)]);
  });

  afterAll(async () => {
    await endChildren();
    await operator.close();
    await database.drop();
    directory.remove();
  });

  /** Sends all requests at once, alternating between both processes, every third one streamed. */
  async function race(key: string): Promise<Exchange[]> {
    const body = (index: number): object => ({
      model: 'mock/fixed-price',
      max_tokens: COST_MICRO,
      stream: index % 3 === 0,
      messages: [{ role: 'user', content: `[[mock: delay=0 usage_completion=${COST_MICRO}]]` }],
    });
    return Promise.all(
      Array.from({ length: REQUESTS }, (_, index) => {
        const { url } = gateways[index % gateways.length] as GatewayProcess;
        return chatUntilServed({ url, key, body: body(index) });
      }),
    );
  }

  const rich = 10n ** 9n;

  it.each<[string, string, (affordableMicro: bigint) => Promise<Customer>]>([
    ['balance', 'insufficient_credits', (affordable) => operator.customer(affordable)],
    [
      "a key's daily budget",
      'budget_exceeded',
      (affordable) => operator.customer(rich, { dailyBudgetMicro: affordable }),
    ],
    [
      "a key's monthly budget",
      'budget_exceeded',
      (affordable) => operator.customer(rich, { monthlyBudgetMicro: affordable }),
    ],
    [
      "an organization's monthly limit",
      'spending_limit_exceeded',
      async (affordable) => {
        const customer = await operator.customer(rich);
        await operator.rows(
          `UPDATE organization_account SET operator_monthly_limit_micro = $2, monthly_limit_micro = $2
            WHERE organization_id = $1`,
          [customer.organizationId, affordable.toString()],
        );
        return customer;
      },
    ],
  ])('accept exactly as many requests as %s covers, and refuse the rest with %s', async (what, code, arrange) => {
    const accepted: number[] = [];
    for (let trial = 0; trial < TRIALS; trial++) {
      const affordable = randomInt(1, REQUESTS);
      // A remainder below one request must not admit another one.
      const { key } = await arrange(BigInt(affordable * COST_MICRO + randomInt(COST_MICRO)));

      const exchanges = await race(key);

      expect(summarize(exchanges)).toEqual({ complete: affordable, [`402 ${code}`]: REQUESTS - affordable });
      accepted.push(affordable);
    }
    // The hold of a shed request is voided shortly after its refusal.
    await until('the end of all holds', 10_000, async () => (await operator.heldCount()) === 0);
    expect(await operator.violations()).toEqual([]);
    report(`exactly K of ${REQUESTS}, ${what}`, { trials: TRIALS, accepted });
  });
});
