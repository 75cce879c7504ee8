import * as fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import {
  createAccount,
  newId,
  startMoneyEngine,
  type Account,
  type MoneyEngine,
  requireSoundBooks,
} from '../billing/money-engine';
import { claimOf, COMPLETION, OPERATION } from './keyed-commands';

const SEQUENCES = 200;
const SLOTS = 8;
const KEYS = ['a', 'b', 'c'];
const BALANCE = 100;
const HOURS_KEPT = 24;

interface Reserve {
  readonly slot: number;
  readonly key: string | null;
  readonly amount: number;
}
interface Finish {
  readonly slot: number;
  readonly outcome: 'settled' | 'released' | 'expired';
  readonly completes: boolean;
}
type Step =
  | { readonly kind: 'wait'; readonly hours: number }
  | { readonly kind: 'reserve'; readonly batch: readonly Reserve[] }
  | { readonly kind: 'finish'; readonly batch: readonly Finish[] };

/** The rules of keys in the simplest possible form. Charges are zero, so that the balance stays what it is. */
class KeyModel {
  nowHours = 0;
  readonly records = new Map<string, { readonly slot: number; readonly completedAtHours: number | null }>();
  private readonly holds = new Map<number, { readonly amount: number; held: boolean }>();

  reserve(batch: readonly Reserve[]): string {
    const claims = batch.filter(({ key }) => key !== null) as readonly (Reserve & { readonly key: string })[];
    for (const { key } of claims) {
      const completedAtHours = this.records.get(key)?.completedAtHours ?? null;
      if (completedAtHours !== null && completedAtHours + HOURS_KEPT <= this.nowHours) this.records.delete(key);
    }
    const made: string[] = [];
    for (const { key, slot } of claims) {
      const hasOne = [...this.records.values()].some((record) => record.slot === slot);
      if (this.records.has(key) || hasOne) continue;
      this.records.set(key, { slot, completedAtHours: null });
      made.push(key);
    }
    const admitted = new Set<number>();
    const answers = batch.map((each) => this.answer(each, admitted));
    for (const key of made) if (!admitted.has(this.records.get(key)?.slot ?? -1)) this.records.delete(key);
    return answers.join(',');
  }

  finish(batch: readonly Finish[]): void {
    for (const { slot, outcome, completes } of batch) {
      const hold = this.holds.get(slot);
      if (hold?.held !== true) continue;
      hold.held = false;
      for (const [key, record] of this.records) {
        if (record.slot !== slot || record.completedAtHours !== null) continue;
        if (completes && outcome === 'settled') this.records.set(key, { slot, completedAtHours: this.nowHours });
        else this.records.delete(key);
      }
    }
  }

  private answer({ slot, key, amount }: Reserve, admitted: Set<number>): string {
    const known = this.holds.get(slot);
    if (known !== undefined) return known.held && known.amount === amount ? 'held' : 'conflict';
    if (key !== null && this.records.get(key)?.slot !== slot) return 'key_claimed';
    let reserved = 0;
    for (const hold of this.holds.values()) if (hold.held) reserved += hold.amount;
    if (reserved + amount > BALANCE) return 'insufficient_balance';
    this.holds.set(slot, { amount, held: true });
    admitted.add(slot);
    return 'held';
  }
}

const slot = fc.nat(SLOTS - 1);
const reserve: fc.Arbitrary<Reserve> = fc.record({
  slot,
  key: fc.option(fc.constantFrom(...KEYS), { freq: 5 }),
  amount: fc.constantFrom(1, 20, 60),
});
const finish: fc.Arbitrary<Finish> = fc.record({
  slot,
  outcome: fc.constantFrom('settled', 'settled', 'released', 'expired'),
  completes: fc.boolean(),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ kind: fc.constant('reserve' as const), batch: fc.array(reserve, { minLength: 1, maxLength: 5 }) }),
  fc.record({ kind: fc.constant('finish' as const), batch: fc.array(finish, { minLength: 1, maxLength: 5 }) }),
);

describe('the money functions with keys', () => {
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

  it(`do what the model does, in ${SEQUENCES} random sequences`, async () => {
    // A failure prints the seed and the shortest sequence that still fails.
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), compare), {
      numRuns: SEQUENCES,
      endOnFailure: false,
    });
    await requireSoundBooks(engine);
  }, 120_000);

  async function compare(steps: readonly Step[]): Promise<void> {
    const account = await createAccount(engine.pool, { balanceMicro: BigInt(BALANCE) });
    const ids = Array.from({ length: SLOTS }, newId);
    const model = new KeyModel();
    for (const each of steps) {
      if (each.kind === 'wait') {
        model.nowHours += each.hours;
      } else if (each.kind === 'reserve') {
        expect(await reserveBatch(account, ids, each.batch, model.nowHours)).toBe(model.reserve(each.batch));
      } else {
        model.finish(each.batch);
        await finishBatch(account, ids, each.batch, model.nowHours);
      }
      const expected = [...model.records].map(([key, record]) => ({
        key,
        id: ids[record.slot],
        completed: record.completedAtHours !== null,
      }));
      expect(await recordsOf(account)).toEqual(expected.toSorted((left, right) => (left.key < right.key ? -1 : 1)));
    }
  }

  const at = (hours: number) => new Date(Date.UTC(2032, 0, 1, hours));

  async function reserveBatch(account: Account, ids: readonly string[], batch: readonly Reserve[], hours: number) {
    const claims = batch.map(({ key }) => key && [OPERATION, key, claimOf(key).fingerprint, false]);
    const { rows } = await engine.pool.query<{ answer: string }>(
      `SELECT money_reserve($1, $2, $3, $4, $5, 'model test', $6, $7) AS answer`,
      [
        batch.map((each) => ids[each.slot]),
        batch.map(() => account.organizationId),
        batch.map(() => account.keyId),
        batch.map(({ amount }) => amount),
        batch.map(() => 1e9),
        at(hours),
        JSON.stringify(claims),
      ],
    );
    return rows[0]?.answer;
  }

  async function finishBatch(account: Account, ids: readonly string[], batch: readonly Finish[], hours: number) {
    const { status, contentType, headers, bodyStored } = COMPLETION;
    const completions = batch.map(({ outcome, completes }) =>
      completes && outcome === 'settled' ? [status, contentType, headers, bodyStored] : null,
    );
    await engine.pool.query('SELECT money_finish($1, $2, $3, $4, NULL, $5, $6)', [
      batch.map((each) => ids[each.slot]),
      batch.map(() => account.organizationId),
      batch.map(({ outcome }) => outcome),
      batch.map(() => 0),
      at(hours),
      JSON.stringify(completions),
    ]);
  }

  async function recordsOf({ organizationId }: Account): Promise<object[]> {
    const { rows } = await engine.pool.query<{ key: string; id: string; completed: boolean }>(
      `SELECT key, reservation_id AS id, state = 'completed' AS completed
         FROM idempotency_record WHERE organization_id = $1 ORDER BY key`,
      [organizationId],
    );
    return rows;
  }
});
