import type { Pool } from 'pg';
import type { ReserveCommand } from '../../../src/billing/ledger/money.types';
import { isLockTimeout } from '../../../src/core/database/driver-error';
import { GatewayError } from '../../../src/core/errors/gateway-error';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import {
  createAccount,
  createKey,
  reserveCommand,
  startMoneyEngine,
  type Account,
  type MoneyEngine,
  requireSoundBooks,
} from './money-engine';

const TRIALS = 20;
const CALLERS = 300;
const AMOUNT = 1_000n;

describe('admission', () => {
  let database: TestDatabase;
  let engines: readonly [MoneyEngine, MoneyEngine];
  let alone: Pool;

  beforeAll(async () => {
    database = await createTestDatabase();
    engines = [startMoneyEngine(database.url), startMoneyEngine(database.url)];
    alone = createTestPool(database.url, 2);
  });
  afterAll(async () => {
    await alone.end();
    await Promise.all(engines.map((engine) => engine.close()));
    await database.drop();
  });

  /** Sends all calls concurrently, alternating between two engines; every tenth call bypasses the queues. */
  async function race(account: Account): Promise<Map<string, number>> {
    const [first, second] = engines;
    const outcomes = new Map<string, number>();
    const count = (outcome: string): void => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    await Promise.all(
      Array.from({ length: CALLERS }, async (_, index) => {
        const command = reserveCommand(account, AMOUNT);
        if (index % 10 === 0) {
          count(OUTCOMES[await reserveAlone(command)] ?? 'unexpected');
          return;
        }
        const engine = index % 2 === 0 ? first : second;
        await engine.reservations.reserve(command).then(
          () => count('admitted'),
          (error: GatewayError) => count(describeRefusal(error)),
        );
      }),
    );
    return outcomes;
  }

  /** As the queues do, it calls again when others locked the account for too long: nothing was held then. */
  async function reserveAlone(command: ReserveCommand): Promise<string> {
    const { reservationId, organizationId, keyId, amountMicro } = command;
    for (;;) {
      try {
        const { rows } = await alone.query<{ answer: string }>(
          `SELECT money_reserve(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], ARRAY[$4::bigint], ARRAY[60], 'single')
                  AS answer`,
          [reservationId, organizationId, keyId, amountMicro.toString()],
        );
        return rows[0]?.answer ?? '';
      } catch (error) {
        if (!isLockTimeout(error)) throw error;
      }
    }
  }

  const settingsFor = {
    insufficient_credits: (affordable: bigint) => ({ balanceMicro: affordable }),
    'budget_exceeded key_daily': (affordable: bigint) => ({ dailyBudgetMicro: affordable }),
    'budget_exceeded key_monthly': (affordable: bigint) => ({ monthlyBudgetMicro: affordable }),
    spending_limit_exceeded: (affordable: bigint) => ({ monthlyLimitMicro: affordable }),
  };

  it.each(Object.entries(settingsFor))(
    `admits exactly as many as %s allows, on brand-new accounts and windows, in ${TRIALS} of ${TRIALS} trials`,
    async (refusal, settings) => {
      for (let trial = 0; trial < TRIALS; trial += 1) {
        const admissible = 1 + ((trial * 37) % (CALLERS - 1));
        // Not a multiple of the amount: the remainder must not admit another hold.
        const account = await createAccount(engines[0].pool, settings(BigInt(admissible) * AMOUNT + BigInt(trial)));
        const outcomes = await race(account);
        expect(Object.fromEntries(outcomes)).toEqual({ admitted: admissible, [refusal]: CALLERS - admissible });
      }
      await requireSoundBooks(engines[0]);
    },
  );

  it('refuses with budget_exceeded first, then spending_limit_exceeded, then insufficient_credits', async () => {
    const [{ pool, reservations }] = engines;
    const settings = { dailyBudgetMicro: 30n, monthlyBudgetMicro: 20n, monthlyLimitMicro: 10n, balanceMicro: 5n };
    const account = await createAccount(pool, settings);
    const refusals: string[] = [];
    for (const amount of [31n, 21n, 11n, 6n]) {
      await reservations.reserve(reserveCommand(account, amount)).catch((error: GatewayError) => {
        refusals.push(describeRefusal(error));
      });
    }
    expect(refusals).toEqual([
      'budget_exceeded key_daily',
      'budget_exceeded key_monthly',
      'spending_limit_exceeded',
      'insufficient_credits',
    ]);
    await reservations.reserve(reserveCommand(account, 5n));
  });

  it('applies budgets per key and the monthly limit across all keys', async () => {
    const [{ pool, reservations }] = engines;
    const account = await createAccount(pool, { dailyBudgetMicro: 10n, monthlyLimitMicro: 15n });
    const sibling = { ...account, keyId: await createKey(pool, account.organizationId, { dailyBudgetMicro: 10n }) };
    await reservations.reserve(reserveCommand(account, 10n));
    await expect(reservations.reserve(reserveCommand(account, 1n))).rejects.toMatchObject({ code: 'budget_exceeded' });
    await expect(reservations.reserve(reserveCommand(sibling, 6n))).rejects.toMatchObject({
      code: 'spending_limit_exceeded',
    });
    await reservations.reserve(reserveCommand(sibling, 5n));
  });

  it('admits nothing for a key of another organization', async () => {
    const [{ pool, reservations }] = engines;
    const [mine, theirs] = [await createAccount(pool), await createAccount(pool)];
    const command = reserveCommand({ organizationId: theirs.organizationId, keyId: mine.keyId }, 1n);
    await expect(reservations.reserve(command)).rejects.toMatchObject({ code: 'internal_error' });
    expect((await engines[0].ledger.balance(theirs.organizationId)).reservedMicro).toBe(0n);
  });

  it('holds an amount once for repeated calls with the same reservation id', async () => {
    const account = await createAccount(engines[0].pool, { balanceMicro: 1_500n });
    const command = reserveCommand(account, AMOUNT);
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => engines[(index % 2) as 0 | 1].reservations.reserve(command)),
    );
    expect((await engines[0].ledger.balance(account.organizationId)).reservedMicro).toBe(AMOUNT);
  });

  it('does not treat a different hold with a known id as a repeated call', async () => {
    const [{ pool, reservations }] = engines;
    const account = await createAccount(pool);
    const command = reserveCommand(account, 10n);
    await reservations.reserve(command);
    await expect(reservations.reserve({ ...command, amountMicro: 11n })).rejects.toMatchObject({
      code: 'service_unavailable',
    });
  });
});

const OUTCOMES: Readonly<Record<string, string>> = {
  held: 'admitted',
  insufficient_balance: 'insufficient_credits',
  key_daily_budget: 'budget_exceeded key_daily',
  key_monthly_budget: 'budget_exceeded key_monthly',
  organization_monthly_limit: 'spending_limit_exceeded',
};

function describeRefusal({ code, details }: GatewayError): string {
  return details === undefined ? code : `${code} ${(details as { budget: string }).budget}`;
}
