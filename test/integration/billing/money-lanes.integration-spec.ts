import { randomUUID } from 'node:crypto';
import { MoneyConnection } from '../../../src/billing/ledger/money-statements';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import {
  type Account,
  createAccount,
  type MoneyEngine,
  requireSoundBooks,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
} from './money-engine';

const LANES = 2;

describe('batches by lane', () => {
  let database: TestDatabase;
  let engine: MoneyEngine;

  beforeAll(async () => {
    database = await createTestDatabase();
    engine = startMoneyEngine(database.url, { lanes: LANES });
    await engine.lease.start();
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  /** Of this lane: the last digit of its id decides. */
  async function accountIn(lane: number): Promise<Account> {
    for (;;) {
      const organizationId = randomUUID();
      if (Number.parseInt(organizationId.slice(-1), 16) % LANES === lane)
        return createAccount(engine.pool, { organizationId });
    }
  }

  it('of other organizations do not wait for an account that is locked', async () => {
    const [locked, free] = [await accountIn(0), await accountIn(1)];
    const [held, other] = [reserveCommand(locked, 100n), reserveCommand(free, 100n)];
    const statements = jest.spyOn(MoneyConnection.prototype, 'query');
    const holder = await engine.pool.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT 1 FROM organization_account WHERE organization_id = $1 FOR UPDATE', [
        locked.organizationId,
      ]);
      let isHeld = false;
      const holding = engine.reservations.reserve(held).then(() => (isHeld = true));
      await engine.reservations.reserve(other);
      await engine.reservations.finish(settleCommand(other, 60n));
      expect(isHeld).toBe(false);
      expect(engine.reservations.describeQueues()[0]).toMatchObject({ queue: 'reserve', size: 1 });
      await holder.query('COMMIT');
      await holding;
    } finally {
      holder.release();
    }
    await engine.reservations.finish(settleCommand(held, 70n));
    const shared = statements.mock.calls.filter(([{ values }]) =>
      [locked, free].every(({ organizationId }) => values[1]?.includes(organizationId)),
    );
    expect([statements.mock.calls.length > 3, shared]).toEqual([true, []]);
    await requireSoundBooks(engine);
  });
});
