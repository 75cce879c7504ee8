import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../../src/core/errors/gateway-error';
import { SpendingOutlookService } from '../../../src/billing/ledger/spending-outlook.service';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import {
  type Account,
  type AccountSettings,
  createAccount,
  type MoneyEngine,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
} from './money-engine';

describe('SpendingOutlookService', () => {
  let database: TestDatabase;
  let engine: MoneyEngine;
  let outlook: SpendingOutlookService;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = startMoneyEngine(database.url);
    outlook = new SpendingOutlookService(engine.pool);
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  async function spend(account: Account, heldMicro: bigint, chargedMicro: bigint): Promise<void> {
    const command = reserveCommand(account, heldMicro);
    await engine.reservations.reserve(command);
    if (chargedMicro > 0n) await engine.reservations.finish(settleCommand(command, chargedMicro));
  }

  /** The result of the real reservation. */
  function codeOf(account: Account, amountMicro: bigint): Promise<string | null> {
    return engine.reservations.reserve(reserveCommand(account, amountMicro)).then(
      () => null,
      (error: GatewayError) => `${error.code} ${JSON.stringify(error.details)}`,
    );
  }

  const every: AccountSettings = {
    balanceMicro: 1_000n,
    monthlyLimitMicro: 800n,
    monthlyBudgetMicro: 600n,
    dailyBudgetMicro: 400n,
  };
  const cases: [string, AccountSettings, bigint][] = [
    ['a daily budget', { dailyBudgetMicro: 400n }, 200n],
    ['a monthly budget', { monthlyBudgetMicro: 400n }, 200n],
    ['a monthly limit', { monthlyLimitMicro: 400n }, 200n],
    ['a balance', { balanceMicro: 400n }, 200n],
    ['all limits, of which the first refusing one is reported', every, 200n],
    ['an empty balance', { balanceMicro: 0n }, 0n],
  ];

  it.each(cases)('predicts the reservation to the micro-unit with %s', async (_what, settings, roomMicro) => {
    for (const amountMicro of [0n, roomMicro, roomMicro + 1n, 10_000n]) {
      const account = await createAccount(engine.pool, settings);
      // Half of the used amount is spent, the other half is held.
      if (roomMicro > 0n) {
        await spend(account, 150n, 100n);
        await spend(account, 100n, 0n);
      }
      const { refusal, budgets } = await outlook.previewHold(account.organizationId, account.keyId, amountMicro);
      const predicted = refusal === null ? null : `${refusal.code} ${JSON.stringify(refusal.details)}`;
      expect([amountMicro, predicted]).toEqual([amountMicro, await codeOf(account, amountMicro)]);
      expect(budgets.some(({ wouldRefuse }) => wouldRefuse)).toBe(refusal !== null);
    }
  });

  it('reports the used amount of each budget, spent plus held', async () => {
    const account = await createAccount(engine.pool, every);
    await spend(account, 150n, 100n);
    await spend(account, 100n, 0n);
    const { budgets } = await outlook.previewHold(account.organizationId, account.keyId, 1n);
    expect(budgets).toEqual([
      { budget: 'key_daily', limitMicro: 400n, usedMicro: 200n, wouldRefuse: false },
      { budget: 'key_monthly', limitMicro: 600n, usedMicro: 200n, wouldRefuse: false },
      { budget: 'organization_monthly', limitMicro: 800n, usedMicro: 200n, wouldRefuse: false },
      { budget: 'balance', limitMicro: 900n, usedMicro: 100n, wouldRefuse: false },
    ]);
  });

  it('refuses an unknown account like the reservation', async () => {
    const account = { organizationId: randomUUID(), keyId: randomUUID() };
    const { refusal, budgets } = await outlook.previewHold(account.organizationId, account.keyId, 1n);
    expect([refusal?.code, budgets]).toEqual(['internal_error', []]);
    await expect(engine.reservations.reserve(reserveCommand(account, 1n))).rejects.toMatchObject({
      code: 'internal_error',
    });
  });
});
