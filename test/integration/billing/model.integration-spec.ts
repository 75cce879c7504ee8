import * as fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import { createAccount, createKey, newId, startMoneyEngine, type MoneyEngine, requireSoundBooks } from './money-engine';
import { MoneyModel, type ModelSettings } from './money-model';

const SEQUENCES = 300;
const SLOTS = 12;

type Step =
  | { readonly kind: 'topup'; readonly amount: bigint; readonly reference: number }
  | { readonly kind: 'wait'; readonly hours: number }
  | { readonly kind: 'reserve'; readonly batch: readonly { slot: number; key: number; amount: bigint }[] }
  | { readonly kind: 'finish'; readonly batch: readonly { slot: number; outcome: Outcome; actual: bigint }[] };
type Outcome = 'settled' | 'released' | 'expired';

const amount = fc.bigInt(0n, 60n);
const slot = fc.nat(SLOTS - 1);
const limit = fc.option(fc.bigInt(0n, 300n));
const settings: fc.Arbitrary<ModelSettings> = fc.record({
  monthlyLimit: limit,
  keys: fc.tuple(fc.record({ daily: limit, monthly: limit }), fc.record({ daily: limit, monthly: limit })),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('topup' as const),
    amount: fc.bigInt(1n, 200n),
    reference: fc.nat(3),
  }),
  // The clock also goes back, as after a database failover.
  fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: -26, max: 400 }) }),
  fc.record({
    kind: fc.constant('reserve' as const),
    batch: fc.array(fc.record({ slot, key: fc.nat(1), amount }), { minLength: 1, maxLength: 6 }),
  }),
  fc.record({
    kind: fc.constant('finish' as const),
    batch: fc.array(
      fc.record({
        slot,
        outcome: fc.constantFrom<Outcome>('settled', 'settled', 'released', 'expired'),
        actual: fc.bigInt(0n, 120n),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  }),
);

describe('the money functions', () => {
  let database: TestDatabase;
  let engine: MoneyEngine;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = startMoneyEngine(database.url);
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  it(`match the model in ${SEQUENCES} random sequences`, async () => {
    // A failure prints the seed and the shortest sequence that still fails.
    await fc.assert(fc.asyncProperty(settings, fc.array(step, { minLength: 5, maxLength: 25 }), compare), {
      numRuns: SEQUENCES,
      endOnFailure: false,
    });
    await requireSoundBooks(engine);
  }, 120_000);

  async function compare(limits: ModelSettings, steps: readonly Step[]): Promise<void> {
    const account = await createAccount(engine.pool, {
      balanceMicro: 0n,
      monthlyLimitMicro: limits.monthlyLimit ?? undefined,
      dailyBudgetMicro: limits.keys[0]?.daily ?? undefined,
      monthlyBudgetMicro: limits.keys[0]?.monthly ?? undefined,
    });
    const secondKey = await createKey(engine.pool, account.organizationId, {
      dailyBudgetMicro: limits.keys[1]?.daily ?? undefined,
      monthlyBudgetMicro: limits.keys[1]?.monthly ?? undefined,
    });
    const subject = new Subject(engine, account.organizationId, [account.keyId, secondKey]);
    const model = new MoneyModel(limits);
    const references = new Set<number>();
    for (const each of steps) {
      if (each.kind === 'wait') {
        subject.now += each.hours * 3_600_000;
      } else if (each.kind === 'topup') {
        if (!references.has(each.reference)) {
          model.balance += each.amount;
        }
        references.add(each.reference);
        await subject.topUp(each.amount, each.reference);
      } else if (each.kind === 'reserve') {
        const day = new Date(subject.now).toISOString().slice(0, 10);
        const actual = await subject.reserve(each.batch);
        expect(actual).toBe(
          inKeyOrder(each.batch, subject.keys, (op) => model.reserve(op.slot, op.key, op.amount, day)),
        );
      } else {
        const actual = await subject.finish(each.batch);
        expect(actual).toBe(each.batch.map((op) => model.finish(op.slot, op.outcome, op.actual)).join(','));
      }
    }
    expect(await engine.ledger.balance(account.organizationId)).toMatchObject({
      balanceMicro: model.balance,
      reservedMicro: model.reserved,
    });
  }
});

/** A batch is admitted key by key, in the order of their ids, and in order of arrival within a key. */
function inKeyOrder<Operation extends { key: number }>(
  batch: readonly Operation[],
  keys: readonly string[],
  admit: (operation: Operation) => string,
): string {
  const answers = batch.map(() => '');
  const order = batch.map((operation, position) => ({ operation, position, key: keys[operation.key] ?? '' }));
  order.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : left.position - right.position));
  for (const { operation, position } of order) {
    answers[position] = admit(operation);
  }
  return answers.join(',');
}

/** The database behind the interface of the model. */
class Subject {
  now = Date.UTC(2032, 1, 28, 20);
  private readonly ids = Array.from({ length: SLOTS }, newId);

  constructor(
    private readonly engine: MoneyEngine,
    private readonly organizationId: string,
    readonly keys: readonly string[],
  ) {}

  async topUp(topUpAmount: bigint, reference: number): Promise<void> {
    await this.engine.ledger.topUp(this.organizationId, topUpAmount, `payment ${reference}`).catch(() => undefined);
  }

  async reserve(batch: readonly { slot: number; key: number; amount: bigint }[]): Promise<string> {
    return this.call('SELECT money_reserve($1, $2, $3, $4, $5, $6, $7) AS answer', [
      batch.map((op) => this.ids[op.slot]),
      batch.map(() => this.organizationId),
      batch.map((op) => this.keys[op.key]),
      batch.map((op) => op.amount.toString()),
      batch.map(() => 3_600),
      'model test',
      new Date(this.now),
    ]);
  }

  async finish(batch: readonly { slot: number; outcome: Outcome; actual: bigint }[]): Promise<string> {
    return this.call('SELECT money_finish($1, $2, $3, $4, NULL, $5) AS answer', [
      batch.map((op) => this.ids[op.slot]),
      batch.map(() => this.organizationId),
      batch.map((op) => op.outcome),
      batch.map((op) => op.actual.toString()),
      new Date(this.now),
    ]);
  }

  private async call(text: string, values: unknown[]): Promise<string> {
    const { rows } = await this.engine.pool.query<{ answer: string }>(text, values);
    return rows[0]?.answer ?? '';
  }
}
