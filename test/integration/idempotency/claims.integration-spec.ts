import { KeyClaimedError, type ReserveCommand } from '../../../src/billing/ledger/money.types';
import { createTestDatabase, type TestDatabase } from '../../harness/database';
import {
  createAccount,
  releaseCommand,
  requireSoundBooks,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
  type Account,
  type MoneyEngine,
} from '../billing/money-engine';
import { claimOf, COMPLETION, completing, keyedCommand, recordsOf } from './keyed-commands';

let database: TestDatabase;
let engine: MoneyEngine;
let other: MoneyEngine;
let account: Account;

beforeAll(async () => {
  database = await createTestDatabase();
  engine = startMoneyEngine(database.url);
  other = startMoneyEngine(database.url);
});
beforeEach(async () => {
  account = await createAccount(engine.pool, { balanceMicro: 1_000n });
});
afterEach(() => requireSoundBooks(engine));
afterAll(async () => {
  await Promise.all([engine.close(), other.close()]);
  await database.drop();
});

const records = () => recordsOf(engine.pool, account);
const reserved = async () => (await engine.ledger.balance(account.organizationId)).reservedMicro;

/** Which of the attempts to reserve were admitted, by position. */
async function admitted(attempts: readonly Promise<void>[]): Promise<number[]> {
  const outcomes = await Promise.allSettled(attempts);
  return outcomes.flatMap((outcome, position) => {
    if (outcome.status === 'fulfilled') return [position];
    expect(outcome.reason).toBeInstanceOf(KeyClaimedError);
    return [];
  });
}

describe('a claim', () => {
  it('is won by one of 200 twins in two processes, and only that one holds money', async () => {
    const attempts = Array.from({ length: 200 }, (_, index) =>
      (index % 2 === 0 ? engine : other).reservations.reserve(keyedCommand(account, 10n, claimOf('twins'))),
    );
    expect(await admitted(attempts)).toHaveLength(1);
    expect(await reserved()).toBe(10n);
    expect(await records()).toMatchObject([{ key: 'twins', state: 'in_progress' }]);
  });

  it('is refused whatever the body of the one that has the key', async () => {
    await engine.reservations.reserve(keyedCommand(account, 10n, claimOf('key', 'one')));
    const second = engine.reservations.reserve(keyedCommand(account, 10n, claimOf('key', 'another')));
    await expect(second).rejects.toBeInstanceOf(KeyClaimedError);
  });

  it('on another operation or in another organization is another claim', async () => {
    const elsewhere = await createAccount(engine.pool);
    const attempts = [
      keyedCommand(account, 1n, claimOf('key')),
      keyedCommand(account, 1n, { ...claimOf('key'), operation: 'createEmbedding' }),
      keyedCommand(elsewhere, 1n, claimOf('key')),
    ].map((command) => engine.reservations.reserve(command));
    expect(await admitted(attempts)).toEqual([0, 1, 2]);
  });

  it('is given back when the money does not suffice, and the key is free at once', async () => {
    const attempt = (amount: bigint) => engine.reservations.reserve(keyedCommand(account, amount, claimOf('key')));
    await expect(attempt(1_001n)).rejects.toMatchObject({ code: 'insufficient_credits' });
    expect(await records()).toEqual([]);
    await attempt(1_000n);
    expect(await records()).toHaveLength(1);
  });

  it('is recognised by a call that is repeated because its answer was lost', async () => {
    const command = keyedCommand(account, 10n, claimOf('key'));
    await engine.reservations.reserve(command);
    await other.reservations.reserve(command);
    expect(await reserved()).toBe(10n);
    expect(await records()).toMatchObject([{ reservation_id: command.reservationId }]);
  });

  it('stands beside requests without a key in the same batch', async () => {
    const commands = [
      reserveCommand(account, 1n),
      keyedCommand(account, 1n, claimOf('a')),
      reserveCommand(account, 1n),
      keyedCommand(account, 1n, claimOf('a')),
      keyedCommand(account, 1n, claimOf('b')),
    ];
    expect(await admitted(commands.map((command) => engine.reservations.reserve(command)))).toEqual([0, 1, 2, 4]);
    await Promise.all(
      commands.slice(0, 3).map((command) => engine.reservations.finish(completing(settleCommand(command, 1n)))),
    );
    expect(await records()).toMatchObject([
      { key: 'a', state: 'completed' },
      { key: 'b', state: 'in_progress' },
    ]);
  });
});

describe('the end of a keyed hold', () => {
  const hold = async (atMostOnce = false) => {
    const command = keyedCommand(account, 100n, claimOf('key', 'body', atMostOnce));
    await engine.reservations.reserve(command);
    return command;
  };
  const expire = (id: string) =>
    engine.pool.query(`SELECT money_finish(ARRAY[$1::uuid], ARRAY[$2::uuid], '{expired}', '{0}')`, [
      id,
      account.organizationId,
    ]);

  it('stores what the key answers, with the charge that was made, in the transaction of the charge', async () => {
    const command = await hold();
    await engine.reservations.finish(completing(settleCommand(command, 70n)));
    expect(await records()).toMatchObject([
      {
        state: 'completed',
        status: 200,
        charged_micro: '70',
        headers: { 'x-llm-model': 'mock/chat-1', 'x-llm-cost-micro': '70' },
      },
    ]);
    const retry = engine.reservations.reserve(keyedCommand(account, 1n, claimOf('key', 'body')));
    await expect(retry).rejects.toBeInstanceOf(KeyClaimedError);
  });

  it('stores the charge that could be collected when the balance did not cover more', async () => {
    const command = await hold();
    const result = await engine.reservations.finish(completing(settleCommand(command, 5_000n)));
    expect(result).toMatchObject({ chargedMicro: 1_000n });
    expect(await records()).toMatchObject([{ charged_micro: '1000', headers: { 'x-llm-cost-micro': '1000' } }]);
  });

  it('keeps the cost header that a stream had sent', async () => {
    const command = await hold();
    const headers = { 'x-llm-model': 'm', 'x-llm-cost-micro': '100' };
    await engine.reservations.finish(completing(settleCommand(command, 70n), { ...COMPLETION, headers }));
    expect(await records()).toMatchObject([{ charged_micro: '70', headers: { 'x-llm-cost-micro': '100' } }]);
  });

  type End = (command: ReserveCommand) => Promise<unknown>;
  it.each<[string, End]>([
    ['released', (command) => engine.reservations.finish(releaseCommand(command))],
    ['settled without an answer to keep', (command) => engine.reservations.finish(settleCommand(command, 5n))],
    ['expired', (command) => expire(command.reservationId)],
    ['voided', voided],
  ])('frees the key: %s', async (_title, end) => {
    const command = await hold();
    await end(command);
    expect(await records()).toEqual([]);
    await engine.reservations.reserve(keyedCommand(account, 1n, claimOf('key', 'body')));
  });

  async function voided({ reservationId }: ReserveCommand): Promise<void> {
    await engine.pool.query(`SELECT money_void(ARRAY[$1::uuid], ARRAY[$2::uuid], ARRAY[$3::uuid], 'me')`, [
      reservationId,
      account.organizationId,
      account.keyId,
    ]);
  }

  it('stores a failure for what may have run and must not run again, when its owner was lost', async () => {
    const command = await hold(true);
    await expire(command.reservationId);
    expect(await records()).toMatchObject([{ state: 'completed', status: 500, charged_micro: '0' }]);
  });

  it('frees the key of that too when it was given back on purpose', async () => {
    await engine.reservations.finish(releaseCommand(await hold(true)));
    expect(await records()).toEqual([]);
  });

  it('happens once: the late owner of a key that has gone to another changes nothing', async () => {
    const late = await hold();
    await expire(late.reservationId);
    const next = keyedCommand(account, 100n, claimOf('key', 'body'));
    await engine.reservations.reserve(next);
    expect(await engine.reservations.finish(completing(settleCommand(late, 70n)))).toMatchObject({ applied: false });
    expect(await records()).toMatchObject([{ state: 'in_progress', reservation_id: next.reservationId }]);
    await engine.reservations.finish(completing(settleCommand(next, 60n)));
    expect(await records()).toMatchObject([{ state: 'completed', charged_micro: '60' }]);
  });

  it('is the same when it is reported twice', async () => {
    const command = completing(settleCommand(await hold(), 70n));
    await engine.reservations.finish(command);
    await other.reservations.finish({ ...command, outcome: 'released', completion: null });
    expect(await records()).toMatchObject([{ state: 'completed', charged_micro: '70' }]);
  });
});

describe('the takeover of a key', () => {
  beforeEach(async () => {
    await engine.lease.renew();
    await other.lease.renew();
    await setLease(engine, 0, 60);
  });

  /** Says when an instance was last seen, and since when it has been steady. */
  async function setLease({ lease }: MoneyEngine, heartbeatSecondsAgo: number, steadySeconds: number): Promise<void> {
    await engine.pool.query(
      `UPDATE gateway_instance SET heartbeat_at = clock_timestamp() - make_interval(secs => $2),
                                   steady_since = clock_timestamp() - make_interval(secs => $3) WHERE id = $1`,
      [lease.instanceId, heartbeatSecondsAgo, steadySeconds],
    );
  }

  async function holdElsewhere(atMostOnce = false) {
    const command = keyedCommand(account, 100n, claimOf('key', 'body', atMostOnce));
    await other.reservations.reserve(command);
    return command;
  }
  const retry = (atMostOnce = false) => {
    const command = keyedCommand(account, 1_000n, claimOf('key', 'body', atMostOnce));
    return engine.reservations.reserve(command).then(() => command);
  };

  it('happens at once when the owner is dead: its money is free for the retry', async () => {
    const dead = await holdElsewhere();
    await setLease(other, 21, 60);
    const { reservationId } = await retry();
    expect(await records()).toMatchObject([{ state: 'in_progress', reservation_id: reservationId }]);
    expect(await other.reservations.finish(completing(settleCommand(dead, 70n)))).toMatchObject({ applied: false });
    expect(await reserved()).toBe(1_000n);
  });

  it('is won by one of many retries', async () => {
    await holdElsewhere();
    await setLease(other, 21, 60);
    const attempts = Array.from({ length: 50 }, () =>
      engine.reservations.reserve(keyedCommand(account, 10n, claimOf('key', 'body'))),
    );
    expect(await admitted(attempts)).toHaveLength(1);
    expect(await reserved()).toBe(10n);
  });

  it('does not happen while the owner may live', async () => {
    await holdElsewhere();
    await setLease(other, 19, 60);
    await expect(retry()).rejects.toBeInstanceOf(KeyClaimedError);
  });

  it('does not happen by a process that was itself cut off a moment ago', async () => {
    await holdElsewhere();
    await setLease(other, 21, 60);
    await setLease(engine, 0, 9);
    await expect(retry()).rejects.toBeInstanceOf(KeyClaimedError);
  });

  it('does not happen for what must run at most once: that ends with its stored failure', async () => {
    await holdElsewhere(true);
    await setLease(other, 21, 60);
    await expect(retry(true)).rejects.toBeInstanceOf(KeyClaimedError);
    expect(await records()).toMatchObject([{ state: 'completed', status: 500, charged_micro: '0' }]);
    expect(await reserved()).toBe(0n);
  });

  it('happens for an expired record', async () => {
    const command = await holdElsewhere();
    await other.reservations.finish(completing(settleCommand(command, 0n)));
    await expect(retry()).rejects.toBeInstanceOf(KeyClaimedError);
    await engine.pool.query(`UPDATE idempotency_record SET expires_at = clock_timestamp() WHERE reservation_id = $1`, [
      command.reservationId,
    ]);
    const { reservationId } = await retry();
    expect(await records()).toMatchObject([{ state: 'in_progress', reservation_id: reservationId }]);
  });
});
