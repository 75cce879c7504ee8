import { isLockTimeout } from '../../../src/core/database/driver-error';
import { NO_USAGE } from '../../../src/providers/contract/usage';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import {
  createAccount,
  releaseCommand,
  requireSoundBooks,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
  type MoneyEngine,
} from './money-engine';

describe('the end of a hold', () => {
  let database: TestDatabase;
  let engine: MoneyEngine;
  let other: MoneyEngine;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = startMoneyEngine(database.url);
    other = startMoneyEngine(database.url);
  });
  afterEach(async () => {
    await requireSoundBooks(engine);
  });
  afterAll(async () => {
    await Promise.all([engine.close(), other.close()]);
    await database.drop();
  });

  const balanceOf = (organizationId: string) => engine.ledger.balance(organizationId);

  it('succeeds exactly once when settle, release and expire race for 500 holds', async () => {
    const account = await createAccount(engine.pool);
    const commands = Array.from({ length: 500 }, () => reserveCommand(account, 1_000n));
    await Promise.all(commands.map((command) => engine.reservations.reserve(command)));

    // As the queues do, it calls again when others locked the account for too long: nothing was ended then.
    const expire = async (id: string): Promise<boolean> => {
      for (;;) {
        try {
          const { rows } = await other.pool.query<{ answer: string }>(
            `SELECT money_finish(ARRAY[$1::uuid], ARRAY[$2::uuid], '{expired}', '{0}') AS answer`,
            [id, account.organizationId],
          );
          return rows[0]?.answer.startsWith('applied,') ?? false;
        } catch (error) {
          if (!isLockTimeout(error)) throw error;
        }
      }
    };
    const winners = await Promise.all(
      commands.map(async (command) => {
        const attempts = await Promise.all([
          engine.reservations.finish(settleCommand(command, 700n)).then(({ applied }) => applied),
          other.reservations.finish(releaseCommand(command)).then(({ applied }) => applied),
          expire(command.reservationId),
          other.reservations.finish(settleCommand(command, 600n)).then(({ applied }) => applied),
          engine.reservations.finish(releaseCommand(command)).then(({ applied }) => applied),
        ]);
        return attempts.filter(Boolean).length;
      }),
    );
    expect(winners).toEqual(commands.map(() => 1));
    expect((await balanceOf(account.organizationId)).reservedMicro).toBe(0n);
  });

  it('answers by position when one batch contains the same reservation several times', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 10_000n });
    const command = reserveCommand(account, 1_000n);
    await engine.reservations.reserve(command);
    const results = await Promise.all(
      Array.from({ length: 100 }, () => engine.reservations.finish(settleCommand(command, 700n))),
    );
    expect(results.filter(({ applied }) => applied)).toHaveLength(1);
    expect(results.every(({ chargedMicro }) => chargedMicro === 700n)).toBe(true);
    expect((await balanceOf(account.organizationId)).balanceMicro).toBe(9_300n);
  });

  it('charges the excess over the hold to the free balance, and records the uncollected rest', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 1_000n });
    const [first, second] = [reserveCommand(account, 300n), reserveCommand(account, 300n)];
    await Promise.all([engine.reservations.reserve(first), engine.reservations.reserve(second)]);

    const result = await engine.reservations.finish(settleCommand(first, 900n));
    expect(result).toEqual({ applied: true, chargedMicro: 700n, uncollectedMicro: 200n });
    // The other hold is untouched, although the balance is gone.
    expect(await balanceOf(account.organizationId)).toMatchObject({ balanceMicro: 300n, reservedMicro: 300n });
    expect(await engine.reservations.finish(settleCommand(second, 300n))).toMatchObject({ chargedMicro: 300n });
    expect(await balanceOf(account.organizationId)).toMatchObject({ balanceMicro: 0n, reservedMicro: 0n });
  });

  it('frees the rest of a hold for later settlements in the same batch', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 200n });
    const [first, second] = [reserveCommand(account, 100n), reserveCommand(account, 100n)];
    await Promise.all([engine.reservations.reserve(first), engine.reservations.reserve(second)]);
    const results = await Promise.all([
      engine.reservations.finish(settleCommand(first, 40n)),
      engine.reservations.finish(settleCommand(second, 170n)),
    ]);
    expect(results.map(({ chargedMicro, uncollectedMicro }) => [chargedMicro, uncollectedMicro])).toEqual([
      [40n, 0n],
      [160n, 10n],
    ]);
  });

  it('never charges a negative amount', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 100n });
    const command = reserveCommand(account, 50n);
    await engine.reservations.reserve(command);
    expect(await engine.reservations.finish(settleCommand(command, -20n))).toMatchObject({ chargedMicro: 0n });
    expect(await balanceOf(account.organizationId)).toMatchObject({ balanceMicro: 100n, reservedMicro: 0n });
  });

  it('writes the receipt with the exact charge, once, and without the numbers that are 0', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 1_000n });
    const command = reserveCommand(account, 100n);
    await engine.reservations.reserve(command);
    const settlement = settleCommand(command, 1_200n, {
      model: 'vendor/"quoted\\name"',
      errorCode: 'stream_interrupted',
    });
    await engine.reservations.finish(settlement);
    await engine.reservations.finish(settlement);
    const free = reserveCommand(account, 0n);
    await engine.reservations.reserve(free);
    await engine.reservations.finish(settleCommand(free, 0n, { usage: NO_USAGE }));
    expect(
      (
        await engine.pool.query('SELECT uncollected_micro, seconds FROM usage_record WHERE id = $1', [
          free.reservationId,
        ])
      ).rows,
    ).toEqual([{ uncollected_micro: null, seconds: null }]);
    const { rows } = await engine.pool.query('SELECT * FROM usage_record WHERE id = $1', [command.reservationId]);
    expect(rows).toEqual([
      expect.objectContaining({
        organization_id: account.organizationId,
        key_id: account.keyId,
        hold_micro: 100n,
        charged_micro: 1_000n,
        uncollected_micro: 200n,
        model: 'vendor/"quoted\\name"',
        error_code: 'stream_interrupted',
        status: 200,
        streamed: true,
        usage_estimated: false,
        attempts: 1,
        first_token_ms: 12,
        total_ms: 346,
        input_text: 120n,
        output_text: 64n,
        input_cache_read: null,
        output_reasoning: null,
        images: null,
        seconds: 1.5,
        deployment_uuid: settlement.record?.deploymentId,
        price_version_uuid: settlement.record?.priceVersionId,
      }),
    ]);
  });

  it('seals a receipt like the previous release, which names deployment and price version as text', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 1_000n });
    const command = reserveCommand(account, 100n);
    await engine.reservations.reserve(command);
    await engine.reservations.finish(settleCommand(command, 100n, {}));
    const { rows } = await engine.pool.query(
      `SELECT u.digest = usage_record_digest(jsonb_populate_record(u, jsonb_build_object(
                'deployment_uuid', NULL, 'deployment_id', u.deployment_uuid,
                'price_version_uuid', NULL, 'price_version_id', u.price_version_uuid))) AS is_same
         FROM usage_record u WHERE u.id = $1`,
      [command.reservationId],
    );
    expect(rows).toEqual([{ is_same: true }]);
  });

  it('charges even when the receipt cannot be stored unchanged, without affecting the rest of the batch', async () => {
    const account = await createAccount(engine.pool, { balanceMicro: 1_000n });
    const commands = Array.from({ length: 5 }, () => reserveCommand(account, 100n));
    await Promise.all(commands.map((command) => engine.reservations.reserve(command)));
    const unstorable = [{ model: 'bad\u0000name' }, { model: 'a', deploymentId: 'not a UUID' }];
    const results = await Promise.all(
      commands.map((command, index) =>
        engine.reservations.finish(settleCommand(command, 80n, unstorable[index] ?? {})),
      ),
    );
    expect(results.every(({ applied, chargedMicro }) => applied && chargedMicro === 80n)).toBe(true);
    const { rows } = await engine.pool.query<{ model: string }>(
      'SELECT model FROM usage_record WHERE organization_id = $1 ORDER BY model',
      [account.organizationId],
    );
    expect(rows.map(({ model }) => model)).toEqual(['a', 'badname', ...Array.from({ length: 3 }, () => 'mock/chat-1')]);
  });

  it('updates the windows of the day of the reservation, not of the day on which it ends', async () => {
    const account = await createAccount(engine.pool, { dailyBudgetMicro: 100n, monthlyBudgetMicro: 150n });
    const at = async (now: string, amount: bigint) => {
      const command = reserveCommand(account, amount);
      const { rows } = await engine.pool.query<{ answer: string }>(
        `SELECT money_reserve(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], ARRAY[$4::bigint], ARRAY[864000], 'me',
                              $5::timestamptz) AS answer`,
        [command.reservationId, account.organizationId, account.keyId, amount.toString(), now],
      );
      return { command, answer: rows[0]?.answer };
    };
    const evening = await at('2031-01-31T23:59:59.9Z', 100n);
    expect(evening.answer).toBe('held');
    expect((await at('2031-01-31T23:59:59.95Z', 1n)).answer).toBe('key_daily_budget');
    // A new day and a new month; the time zone of the literal does not matter.
    const morning = await at('2031-02-01T05:30:00.1+05:30', 100n);
    expect(morning.answer).toBe('held');
    expect((await at('2031-02-02T00:00:00Z', 51n)).answer).toBe('key_monthly_budget');
    await engine.reservations.finish(settleCommand(evening.command, 30n));
    await engine.reservations.finish(releaseCommand(morning.command));
    expect((await at('2031-01-31T12:00:00Z', 70n)).answer).toBe('held');
    expect((await at('2031-02-28T12:00:00Z', 100n)).answer).toBe('held');

    const { rows } = await engine.pool.query(
      `SELECT scope, window_start::text AS start, spent_micro, reserved_micro FROM spend_window
        WHERE scope_id = $1 ORDER BY scope, window_start`,
      [account.keyId],
    );
    expect(rows).toEqual([
      { scope: 2, start: '2031-01-31', spent_micro: 30n, reserved_micro: 70n },
      { scope: 2, start: '2031-02-01', spent_micro: 0n, reserved_micro: 0n },
      { scope: 2, start: '2031-02-28', spent_micro: 0n, reserved_micro: 100n },
      { scope: 3, start: '2031-01-01', spent_micro: 30n, reserved_micro: 70n },
      { scope: 3, start: '2031-02-01', spent_micro: 0n, reserved_micro: 100n },
    ]);
  });
});
