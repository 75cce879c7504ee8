import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { HoldSweeperService } from '../../../src/billing/ledger/hold-sweeper.service';
import { createTestDatabase, inSandbox, type TestDatabase } from '../../harness/database';
import {
  createAccount,
  requireSoundBooks,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
  type Account,
  type MoneyEngine,
} from './money-engine';

describe('the sweep of orphaned holds', () => {
  let database: TestDatabase;
  let survivor: MoneyEngine;
  let victim: MoneyEngine;
  let sweeper: HoldSweeperService;
  let account: Account;

  beforeEach(async () => {
    database = await createTestDatabase();
    survivor = startMoneyEngine(database.url);
    victim = startMoneyEngine(database.url);
    sweeper = new HoldSweeperService(survivor.pool, survivor.lease, new Metrics());
    await survivor.lease.renew();
    await victim.lease.renew();
    account = await createAccount(survivor.pool);
  });
  afterEach(async () => {
    await requireSoundBooks(survivor);
    await Promise.all([survivor.close(), victim.close()]);
    await database.drop();
  });

  /** Moves the leases into the past instead of waiting. */
  async function letPass(seconds: number, ...instances: MoneyEngine[]): Promise<void> {
    await survivor.pool.query(
      `UPDATE gateway_instance SET heartbeat_at = heartbeat_at - make_interval(secs => $2),
                                   steady_since = steady_since - make_interval(secs => $2) WHERE id = ANY ($1)`,
      [instances.map(({ lease }) => lease.instanceId), seconds],
    );
  }

  async function beSteady(seconds: number): Promise<void> {
    await survivor.pool.query(
      `UPDATE gateway_instance SET steady_since = clock_timestamp() - make_interval(secs => $2) WHERE id = $1`,
      [survivor.lease.instanceId, seconds],
    );
  }

  const reserved = async () => (await survivor.ledger.balance(account.organizationId)).reservedMicro;

  it('expires only the holds of a crashed process', async () => {
    await Promise.all(Array.from({ length: 250 }, () => victim.reservations.reserve(reserveCommand(account, 2n))));
    const living = reserveCommand(account, 7n);
    await survivor.reservations.reserve(living);
    await beSteady(11);
    expect(await sweeper.sweep()).toBe(0);

    await letPass(12, victim);
    expect(await sweeper.sweep()).toBe(0);
    await letPass(10, victim);
    expect(await sweeper.sweep()).toBe(250);
    expect(await reserved()).toBe(7n);
    expect(await survivor.reservations.finish(settleCommand(living, 7n))).toMatchObject({ applied: true });
  });

  it('expires an overdue hold even if its owner is alive', async () => {
    await survivor.reservations.reserve({ ...reserveCommand(account, 2n), ttlSeconds: 0 });
    await beSteady(11);
    expect(await sweeper.sweep()).toBe(1);
  });

  it('expires nothing until its heartbeats were steady for ten seconds', async () => {
    await victim.reservations.reserve(reserveCommand(account, 2n));
    // After a database outage of a minute all leases look expired, and this instance is the first to return.
    await letPass(60, victim, survivor);
    await survivor.lease.renew();
    expect(await sweeper.sweep()).toBe(0);
    await beSteady(4);
    expect(await sweeper.sweep()).toBe(0);
    expect(await reserved()).toBe(2n);
    // The other instance was only disconnected: it renews its lease and keeps its holds.
    await victim.lease.renew();
    await beSteady(11);
    expect(await sweeper.sweep()).toBe(0);
    expect(await reserved()).toBe(2n);
  });

  it('lets a new process sweep at once when others are steady, in case of repeated crashes', async () => {
    await beSteady(11);
    await victim.reservations.reserve(reserveCommand(account, 2n));
    await letPass(21, victim);
    const newcomer = startMoneyEngine(database.url);
    await newcomer.lease.renew();
    expect(await new HoldSweeperService(newcomer.pool, newcomer.lease, new Metrics()).sweep()).toBe(1);
    await newcomer.close();
  });

  it('makes a new process wait when no instance is steady', async () => {
    await victim.reservations.reserve(reserveCommand(account, 2n));
    await letPass(60, victim, survivor);
    const newcomer = startMoneyEngine(database.url);
    await newcomer.lease.renew();
    expect(await new HoldSweeperService(newcomer.pool, newcomer.lease, new Metrics()).sweep()).toBe(0);
    expect(await reserved()).toBe(2n);
    await newcomer.close();
  });

  it('does not charge a request whose hold was swept, but keeps its receipt', async () => {
    const command = reserveCommand(account, 2n);
    await victim.reservations.reserve(command);
    await letPass(60, victim);
    await beSteady(11);
    await sweeper.sweep();
    const result = await victim.reservations.finish(settleCommand(command, 2n, {}));
    expect(result).toEqual({ applied: false, chargedMicro: 0n, uncollectedMicro: 0n });
    const { rows } = await survivor.pool.query('SELECT charged_micro FROM usage_record WHERE id = $1', [
      command.reservationId,
    ]);
    expect(rows).toEqual([{ charged_micro: 0n }]);
  });

  it('deletes an expired lease only when it owns no hold', async () => {
    const leases = async () =>
      (await survivor.pool.query<{ id: string }>('SELECT id FROM gateway_instance ORDER BY id')).rows.map(
        ({ id }) => id,
      );
    await victim.reservations.reserve(reserveCommand(account, 2n));
    await victim.lease.stop();
    expect(await leases()).toContain(victim.lease.instanceId);
    await letPass(61, victim);
    await beSteady(11);
    expect(await sweeper.sweep()).toBe(1);
    expect(await leases()).toEqual([survivor.lease.instanceId]);
  });

  it('skips a locked account and expires the holds of others', async () => {
    const other = await createAccount(survivor.pool);
    for (const owner of [account, other]) await victim.reservations.reserve(reserveCommand(owner, 2n));
    await letPass(60, victim);
    await beSteady(11);
    await inSandbox(survivor.pool, async (client) => {
      await client.query('SELECT FROM organization_account WHERE organization_id = $1 FOR UPDATE', [
        account.organizationId,
      ]);
      expect(await sweeper.sweep()).toBe(1);
    });
    expect(await sweeper.sweep()).toBe(1);
  });

  it('expires each hold once when several instances sweep concurrently', async () => {
    await Promise.all(Array.from({ length: 50 }, () => victim.reservations.reserve(reserveCommand(account, 2n))));
    await letPass(60, victim);
    await beSteady(11);
    const counts = await Promise.all([sweeper.sweep(), sweeper.sweep(), sweeper.sweep()]);
    expect(counts.reduce((sum, count) => sum + count)).toBe(50);
  });
});
