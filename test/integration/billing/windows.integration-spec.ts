import { createTestDatabase, type TestDatabase } from '../../harness/database';
import {
  createAccount,
  newId,
  requireSoundBooks,
  settleCommand,
  startMoneyEngine,
  type Account,
  type AccountSettings,
  type MoneyEngine,
} from './money-engine';

/** Instants before and after a boundary, and the windows of each. */
const BOUNDARIES = [
  ['midnight', '2031-05-14T23:59:59.999Z', '2031-05-15T00:00:00Z', '2031-05-14/2031-05-01', '2031-05-15/2031-05-01'],
  [
    'the end of a month',
    '2031-04-30T23:59:59Z',
    '2031-05-01T00:00:01Z',
    '2031-04-30/2031-04-01',
    '2031-05-01/2031-05-01',
  ],
  [
    'the end of a year',
    '2031-12-31T23:59:59Z',
    '2032-01-01T00:00:01Z',
    '2031-12-31/2031-12-01',
    '2032-01-01/2032-01-01',
  ],
  ['a leap day', '2032-02-28T23:59:59Z', '2032-02-29T00:00:01Z', '2032-02-28/2032-02-01', '2032-02-29/2032-02-01'],
  [
    'the end of a leap day',
    '2032-02-29T23:59:59Z',
    '2032-03-01T00:00:01Z',
    '2032-02-29/2032-02-01',
    '2032-03-01/2032-03-01',
  ],
  [
    'a February without one',
    '2100-02-28T23:59:59Z',
    '2100-03-01T00:00:01Z',
    '2100-02-28/2100-02-01',
    '2100-03-01/2100-03-01',
  ],
] as const;

/** Limits that make each of the three windows the deciding one. */
const LIMITS: readonly (readonly [name: string, settings: AccountSettings, answer: string, window: 'day' | 'month'])[] =
  [
    ["the key's day", { dailyBudgetMicro: 100n }, 'key_daily_budget', 'day'],
    ["the key's month", { monthlyBudgetMicro: 100n }, 'key_monthly_budget', 'month'],
    ["the organization's month", { monthlyLimitMicro: 100n }, 'organization_monthly_limit', 'month'],
  ];

interface Windows {
  readonly spent: bigint;
  readonly reserved: bigint;
}

describe('the windows of budgets', () => {
  let database: TestDatabase;
  let engine: MoneyEngine;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = startMoneyEngine(database.url);
  });
  afterEach(() => requireSoundBooks(engine));
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  /** One hold at an instant of the database's clock. Returns the answer. */
  async function reserve(account: Account, amount: bigint, at: string, id = newId()): Promise<string> {
    const { rows } = await engine.pool.query<{ answer: string }>(
      `SELECT money_reserve(p_ids => ARRAY[$1::uuid], p_organizations => ARRAY[$2::uuid], p_keys => ARRAY[$3::uuid],
                            p_amounts => ARRAY[$4::bigint], p_ttls => ARRAY[864000], p_owner => 'windows',
                            p_now => $5::timestamptz) AS answer`,
      [id, account.organizationId, account.keyId, amount.toString(), at],
    );
    return rows[0]?.answer ?? '';
  }

  async function finish(account: Account, id: string, outcome: string, actual: bigint, at: string): Promise<string> {
    const { rows } = await engine.pool.query<{ answer: string }>(
      `SELECT money_finish(p_ids => ARRAY[$1::uuid], p_organizations => ARRAY[$2::uuid], p_outcomes => ARRAY[$3],
                           p_actuals => ARRAY[$4::bigint], p_now => $5::timestamptz) AS answer`,
      [id, account.organizationId, outcome, actual.toString(), at],
    );
    return rows[0]?.answer ?? '';
  }

  /** By `<scope>/<start>`: scope 1 is the organization's month, 2 and 3 are the key's day and month. */
  async function windowsOf({ organizationId, keyId }: Account): Promise<Record<string, Windows>> {
    const { rows } = await engine.pool.query<{ name: string; spent: bigint; reserved: bigint }>(
      `SELECT scope || '/' || window_start AS name, spent_micro AS spent, reserved_micro AS reserved
         FROM spend_window WHERE scope_id IN ($1, $2) ORDER BY 1`,
      [organizationId, keyId],
    );
    return Object.fromEntries(rows.map(({ name, spent, reserved }) => [name, { spent, reserved }]));
  }

  const named = (dayAndMonth: string): string[] => {
    const [day, month] = dayAndMonth.split('/') as [string, string];
    return [`1/${month}`, `2/${day}`, `3/${month}`];
  };
  const filled = (names: string[], window: Windows): Record<string, Windows> =>
    Object.fromEntries(names.map((name) => [name, window]));

  describe.each(BOUNDARIES)('over %s', (_name, before, after, windowsBefore, windowsAfter) => {
    it.each([
      ['settled below the hold', 'settled', 30n, 30n],
      ['settled for nothing', 'settled', 0n, 0n],
      ['settled above the hold', 'settled', 140n, 140n],
      ['released', 'released', 0n, 0n],
      ['expired', 'expired', 0n, 0n],
    ])(
      'a hold that is %s corrects the windows of its reservation and no others',
      async (_how, outcome, actual, spent) => {
        const account = await createAccount(engine.pool);
        const id = newId();
        expect(await reserve(account, 100n, before, id)).toBe('held');
        expect(await windowsOf(account)).toEqual(filled(named(windowsBefore), { spent: 0n, reserved: 100n }));
        expect(await finish(account, id, outcome, actual, after)).toBe(`applied,${spent},0`);
        expect(await windowsOf(account)).toEqual(filled(named(windowsBefore), { spent, reserved: 0n }));
        // A repetition on another day changes nothing.
        await finish(account, id, outcome, actual, '2150-01-01T00:00:00Z');
        expect(await windowsOf(account)).toEqual(filled(named(windowsBefore), { spent, reserved: 0n }));
      },
    );

    it.each(LIMITS)('%s resets exactly at its boundary despite earlier open holds', async (...limit) => {
      const [, settings, answer, window] = limit;
      const account = await createAccount(engine.pool, settings);
      const held = newId();
      expect(await reserve(account, 100n, before, held)).toBe('held');
      expect(await reserve(account, 1n, before)).toBe(answer);
      const [daysBefore, daysAfter] = [windowsBefore.split('/'), windowsAfter.split('/')];
      const isNew = window === 'day' || daysBefore[1] !== daysAfter[1];
      expect(await reserve(account, 100n, after)).toBe(isNew ? 'held' : answer);
      // Amounts released in the old window must not become available in the new one, and vice versa.
      await finish(account, held, 'settled', 40n, after);
      expect(await reserve(account, 60n, after)).toBe(isNew ? answer : 'held');
      expect(await reserve(account, 61n, before)).toBe(answer);
      expect(await reserve(account, 60n, before)).toBe(isNew ? 'held' : answer);
    });
  });

  it('are those of the reservation, even after a failover to a clock that is behind', async () => {
    const account = await createAccount(engine.pool, { dailyBudgetMicro: 100n });
    const id = newId();
    expect(await reserve(account, 80n, '2031-05-15T00:02:00Z', id)).toBe('held');
    expect(await finish(account, id, 'settled', 70n, '2031-05-14T23:57:00Z')).toBe('applied,70,0');
    expect(await windowsOf(account)).toMatchObject({
      '2/2031-05-15': { spent: 70n, reserved: 0n },
      '1/2031-05-01': { spent: 70n, reserved: 0n },
    });
    expect(await reserve(account, 100n, '2031-05-14T23:57:00Z')).toBe('held');
    expect(await reserve(account, 30n, '2031-05-15T00:03:00Z')).toBe('held');
  });

  it('accept a charge for a hold of last year', async () => {
    const account = await createAccount(engine.pool);
    const reservationId = newId();
    expect(await reserve(account, 100n, '2024-12-31T23:59:59Z', reservationId)).toBe('held');
    const hold = { ...account, reservationId, amountMicro: 100n, ttlSeconds: 1 };
    expect(await engine.reservations.finish(settleCommand(hold, 60n))).toMatchObject({ applied: true });
    expect(await windowsOf(account)).toEqual(filled(named('2024-12-31/2024-12-01'), { spent: 60n, reserved: 0n }));
  });

  it('cannot become negative because of a database constraint', async () => {
    const account = await createAccount(engine.pool);
    await reserve(account, 10n, '2031-05-14T12:00:00Z');
    for (const column of ['spent_micro', 'reserved_micro']) {
      await expect(
        engine.pool.query(`UPDATE spend_window SET ${column} = -1 WHERE scope_id = $1`, [account.keyId]),
      ).rejects.toMatchObject({ code: '23514' });
    }
  });
});
