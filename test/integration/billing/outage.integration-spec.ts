import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { GatewayError } from '../../../src/core/errors/gateway-error';
import { createTestDatabase, createTestPool, PATIENCE_MS, type TestDatabase } from '../../harness/database';
import { allowedMs, FULL, report } from '../../faults/figures';
import { FaultProxy } from '../../harness/fault-proxy';
import {
  createAccount,
  requireSoundBooks,
  reserveCommand,
  settleCommand,
  startMoneyEngine,
  startPunctualMoneyEngine,
  type Account,
  type MoneyEngine,
} from './money-engine';
import { runMoneyLoad } from './money-load';

describe('billing during failures of the database or its connections', () => {
  let database: TestDatabase;
  let direct: Pool;
  let proxy: FaultProxy;
  let engine: MoneyEngine;
  let account: Account;

  beforeAll(async () => {
    database = await createTestDatabase();
    direct = createTestPool(database.url, 2);
  });
  beforeEach(async () => {
    proxy = await FaultProxy.start(database.url);
    engine = startPunctualMoneyEngine(proxy.url);
    account = await createAccount(direct);
    // Opens connections, so that the failure hits connections in use.
    const isConnected = () => engine.pool.query('SELECT').then(() => true);
    await eventually(() => isConnected().catch(() => false));
  });
  afterEach(async () => {
    proxy.heal();
    await engine.close();
    await proxy.close();
    await requireSoundBooks({ pool: direct });
  });
  afterAll(async () => {
    await direct.end();
    await database.drop();
  });

  async function reservation(id: string): Promise<{ state: string; charged_micro: string | null } | undefined> {
    const { rows } = await direct.query('SELECT state, charged_micro FROM reservation WHERE id = $1', [id]);
    return rows[0];
  }

  async function heldCount(): Promise<number> {
    const { rows } = await direct.query<{ count: string }>(
      `SELECT count(*) FROM reservation WHERE organization_id = $1 AND state = 'held'`,
      [account.organizationId],
    );
    return Number(rows[0]?.count);
  }

  it('neither loses nor duplicates charges while connections are terminated under load', async () => {
    const patient = startMoneyEngine(proxy.url);
    const terminations = (async () => {
      for (let round = 0; round < 12; round += 1) {
        await delay(150);
        await direct.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'gateway money'`,
        );
      }
    })();
    const load = await runMoneyLoad(patient, [account], { callers: 48, durationMs: 2_500 });
    await terminations;
    await patient.reservations.drain();

    const { rows } = await direct.query<{ id: string; charged_micro: string }>(
      `SELECT id, charged_micro FROM reservation WHERE organization_id = $1 AND state = 'settled'`,
      [account.organizationId],
    );
    const stored = new Map(rows.map((row) => [row.id, BigInt(row.charged_micro)]));
    report('connections terminated under load', { charged: load.charged.size, unavailable: load.unavailable });
    expect(load.charged.size).toBeGreaterThan(10);
    // On a busy machine some calls may be refused at admission.
    expect(load.unavailable).toBeLessThanOrEqual(FULL ? 0 : Infinity);
    expect(stored).toEqual(load.charged);
    await eventually(async () => (await heldCount()) === 0);
    await patient.close();
  });

  it('retries a reservation whose answer was lost', async () => {
    const patient = startMoneyEngine(proxy.url);
    await patient.reservations.reserve(reserveCommand(account, 1n));
    proxy.fail('toClient', { hang: true });
    const command = reserveCommand(account, 10n);
    const reserving = patient.reservations.reserve(command);
    await eventually(async () => (await reservation(command.reservationId)) !== undefined);
    proxy.cutOff();
    proxy.heal();
    await reserving;
    expect((await reservation(command.reservationId))?.state).toBe('held');
    expect(await heldCount()).toBe(2);
    await patient.close();
  });

  it('reports the charge of a settlement whose answer was lost', async () => {
    const command = reserveCommand(account, 10n);
    await engine.reservations.reserve(command);
    await engine.reservations.finish(settleCommand(reserveCommand(account, 0n), 0n));
    proxy.fail('toClient', { hang: true });
    const settling = engine.reservations.finish(settleCommand(command, 7n));
    await eventually(async () => (await reservation(command.reservationId))?.state === 'settled');
    proxy.cutOff();
    proxy.heal();
    expect(await settling).toEqual({ applied: true, chargedMicro: 7n, uncollectedMicro: 0n });
  });

  it.each<[string, () => void]>([
    ['down', () => proxy.cutOff()],
    ['silent', () => proxy.fail('toClient', { hang: true })],
    ['unreachable', () => proxy.fail('toServer', { hang: true })],
  ])(
    'refuses within 2.5 s while the database is %s, and leaves no hold behind when it is back',
    async (_mode, fail) => {
      await engine.reservations.reserve(reserveCommand(account, 0n));
      fail();
      const startedAt = performance.now();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, () => engine.reservations.reserve(reserveCommand(account, 5n))),
      );
      expect(performance.now() - startedAt).toBeLessThan(allowedMs(2_500));
      expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual(
        outcomes.map(() => 'service_unavailable'),
      );
      proxy.heal();
      await eventually(async () => (await heldCount()) <= 1);
      await eventually(() =>
        engine.reservations.reserve(reserveCommand(account, 5n)).then(
          () => true,
          () => false,
        ),
      );
      // A delayed statement may arrive only now; its holds are voided afterwards.
      await eventually(async () => (await heldCount()) === 2);
    },
  );

  it('keeps the id of a voided hold, so that a late statement cannot recreate it', async () => {
    proxy.fail('toServer', { hang: true });
    const command = reserveCommand(account, 5n);
    await expect(engine.reservations.reserve(command)).rejects.toMatchObject({ code: 'service_unavailable' });
    proxy.cutOff();
    proxy.heal();
    await eventually(async () => (await reservation(command.reservationId))?.state === 'released');
    await expect(engine.reservations.reserve(command)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await heldCount()).toBe(0);
  });

  it('settles pending charges after the outage, even if their callers timed out', async () => {
    const impatient = startPunctualMoneyEngine(proxy.url, { finishMaxWaitMs: 300 });
    const [patientCommand, impatientCommand] = [reserveCommand(account, 10n), reserveCommand(account, 10n)];
    await engine.reservations.reserve(patientCommand);
    await impatient.reservations.reserve(impatientCommand);
    proxy.cutOff();
    const settling = engine.reservations.finish(settleCommand(patientCommand, 8n));
    await expect(impatient.reservations.finish(settleCommand(impatientCommand, 9n))).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    proxy.heal();
    expect(await settling).toMatchObject({ applied: true, chargedMicro: 8n });
    await eventually(async () => (await reservation(impatientCommand.reservationId))?.state === 'settled');
    await impatient.close();
  });

  it('does not charge an undelivered response whose caller timed out', async () => {
    const impatient = startPunctualMoneyEngine(proxy.url, { finishMaxWaitMs: 300 });
    const command = reserveCommand(account, 10n);
    await impatient.reservations.reserve(command);
    proxy.cutOff();
    const settling = impatient.reservations.finish({ ...settleCommand(command, 9n, {}), releaseOnTimeout: true });
    await expect(settling).rejects.toMatchObject({ code: 'service_unavailable' });
    // An attempt that began before the timeout still carries the charge; the attempts after it carry the release.
    const attempts = proxy.connections;
    await eventually(async () => proxy.connections >= attempts + 4);
    proxy.heal();
    await eventually(async () => (await reservation(command.reservationId))?.state === 'released');
    const { rows } = await direct.query('SELECT status, error_code, charged_micro FROM usage_record WHERE id = $1', [
      command.reservationId,
    ]);
    expect(rows).toEqual([{ status: 503, error_code: 'service_unavailable', charged_micro: '0' }]);
    await impatient.close();
  });

  it('refuses new holds while charges cannot be committed', async () => {
    const patient = startPunctualMoneyEngine(proxy.url, { reserveMaxWaitMs: PATIENCE_MS });
    const command = reserveCommand(account, 10n);
    await patient.reservations.reserve(command);
    proxy.cutOff();
    const settling = patient.reservations.finish(settleCommand(command, 10n));
    await delay(1_100);
    const outcome = patient.reservations.reserve(reserveCommand(account, 1n)).then(
      () => 'held',
      ({ code }: GatewayError) => code,
    );
    // A hold that had only waited would succeed now.
    proxy.heal();
    await settling;
    expect(await outcome).toBe('service_unavailable');
    await patient.close();
  });

  it('drains pending operations on shutdown, then refuses new ones', async () => {
    const command = reserveCommand(account, 10n);
    await engine.reservations.reserve(command);
    const settling = engine.reservations.finish(settleCommand(command, 10n));
    expect(await engine.reservations.drain()).toBe(true);
    expect(await settling).toMatchObject({ applied: true });
    await expect(engine.reservations.reserve(reserveCommand(account, 1n))).rejects.toMatchObject({
      code: 'service_unavailable',
    });
  });
});

async function eventually(check: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 60_000; !(await check()); await delay(50)) {
    if (performance.now() > deadline) throw new Error('did not happen within a minute');
  }
}
