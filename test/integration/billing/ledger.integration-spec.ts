import { randomUUID } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import {
  createAccount,
  requireSoundBooks,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
  type MoneyEngine,
} from './money-engine';

describe('the ledger', () => {
  let database: TestDatabase;
  let engine: MoneyEngine;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = startMoneyEngine(database.url);
  });
  afterAll(async () => {
    await requireSoundBooks(engine);
    await engine.close();
    await database.drop();
  });

  it('credits a payment once when it is reported 50 times concurrently', async () => {
    const { organizationId } = await createAccount(engine.pool, { balanceMicro: 0n });
    const applied = await Promise.all(
      Array.from({ length: 50 }, () => engine.ledger.topUp(organizationId, 500n, 'payment-1')),
    );
    expect(applied.filter(Boolean)).toHaveLength(1);
    expect(await engine.ledger.balance(organizationId)).toEqual({
      balanceMicro: 500n,
      reservedMicro: 0n,
      operatorMonthlyLimitMicro: null,
      ownMonthlyLimitMicro: null,
    });
  });

  it('credits a payment once when two processes receive it 25 times each during spending', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 1_000n });
    const { organizationId } = account;
    const other = startMoneyEngine(database.url);
    const applied = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const command = reserveCommand(account, 10n);
        const credited = (index % 2 === 0 ? engine : other).ledger.topUp(organizationId, 500n, 'payment-2');
        await engine.reservations.reserve(command);
        await other.reservations.finish(settleCommand(command, 10n));
        return credited;
      }),
    );
    expect(applied.filter(Boolean)).toHaveLength(1);
    expect(await engine.ledger.balance(organizationId)).toMatchObject({ balanceMicro: 1_000n, reservedMicro: 0n });
    await other.close();
  });

  it('keeps with each entry the balance that it left, in the order of the list, under concurrency of two processes', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 100_000n });
    const { organizationId } = account;
    const other = startMoneyEngine(database.url);
    const engines = [engine, other];
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const [one, another] = engines.toSorted(() => (index % 2) - 0.5) as [MoneyEngine, MoneyEngine];
        const command = reserveCommand(account, 10n);
        await one.reservations.reserve(command);
        await Promise.all([
          another.reservations.finish(settleCommand(command, BigInt(index % 13))),
          index % 5 === 0 && one.ledger.topUp(organizationId, 7n, `payment ${index}`),
          index % 7 === 0 && another.ledger.refund(organizationId, 3n, `refund ${index}`),
        ]);
      }),
    );
    await other.close();
    const { rows } = await engine.pool.query<{ delta: bigint; after: bigint }>(
      `SELECT organization_delta_micro AS delta, balance_after_micro AS after
         FROM ledger_entry WHERE organization_id = $1 ORDER BY created_at, id`,
      [organizationId],
    );
    let balanceMicro = 0n;
    expect(rows.map(({ after }) => after)).toEqual(rows.map(({ delta }) => (balanceMicro += delta)));
    expect(rows.length).toBeGreaterThan(200);
    expect(await engine.ledger.balance(organizationId)).toMatchObject({ balanceMicro, reservedMicro: 0n });
  });

  it('refuses a known reference with another amount', async () => {
    const { organizationId } = await createAccount(engine.pool, { balanceMicro: 0n });
    await engine.ledger.topUp(organizationId, 500n, 'payment-1');
    await expect(engine.ledger.topUp(organizationId, 501n, 'payment-1')).rejects.toMatchObject({ code: 'conflict' });
    // References are unique per kind of ledger entry.
    expect(await engine.ledger.refund(organizationId, 500n, 'payment-1')).toBe(true);
  });

  it('never refunds held amounts', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 100n });
    await engine.reservations.reserve(reserveCommand(account, 60n));
    await expect(engine.ledger.refund(account.organizationId, 41n, 'too much')).rejects.toMatchObject({
      code: 'insufficient_credits',
    });
    expect(await engine.ledger.refund(account.organizationId, 40n, 'all that is free')).toBe(true);
    expect(await engine.ledger.refund(account.organizationId, 0n, 'nothing').catch(({ code }) => code)).toBe(
      'validation_failed',
    );
  });

  it('limits a balance to the largest exact JSON integer', async () => {
    const max = BigInt(Number.MAX_SAFE_INTEGER);
    const { organizationId } = await createAccount(engine.pool, { balanceMicro: 1n });
    const refused = { code: 'validation_failed', param: 'amount_micro' };
    for (const amountMicro of [max, 2n ** 63n - 1n, 2n ** 63n]) {
      await expect(engine.ledger.topUp(organizationId, amountMicro, 'too much')).rejects.toMatchObject(refused);
    }
    expect(await engine.ledger.topUp(organizationId, max - 1n, 'the rest')).toBe(true);
    await expect(engine.ledger.topUp(organizationId, 1n, 'one more')).rejects.toMatchObject(refused);
    // A constraint also refuses an update that bypasses the function.
    const past = 'UPDATE organization_account SET balance_micro = balance_micro + 1 WHERE organization_id = $1';
    await expect(engine.pool.query(past, [organizationId])).rejects.toMatchObject({ code: '23514' });
  });

  it('returns not_found for an account that was never opened', async () => {
    const unknown = randomUUID();
    await expect(engine.ledger.balance(unknown)).rejects.toMatchObject({ code: 'not_found' });
    await expect(engine.ledger.topUp(unknown, 1n, 'payment')).rejects.toMatchObject({ code: 'not_found' });
  });
});
