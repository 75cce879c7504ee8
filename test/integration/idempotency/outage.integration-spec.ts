import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import type { FinishCommand } from '../../../src/billing/ledger/money.types';
import { createDataSource } from '../../../src/core/database/data-source';
import { DEFAULT_IDEMPOTENCY_OPTIONS, ResponseStore } from '../../../src/auth/idempotency/response-store';
import { IdempotencyService } from '../../../src/auth/idempotency/idempotency.service';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import { FaultProxy } from '../../harness/fault-proxy';
import {
  createAccount,
  requireSoundBooks,
  settleCommand,
  startPunctualMoneyEngine,
  type Account,
  type MoneyEngine,
} from '../billing/money-engine';
import { claimOf, COMPLETION, keyedCommand, recordsOf, REQUEST, responseMemory } from './keyed-commands';

let database: TestDatabase;
let wire: FaultProxy;
let observer: Pool;
let engine: MoneyEngine;
let account: Account;
let dataSource: DataSource;

beforeEach(async () => {
  database = await createTestDatabase();
  wire = await FaultProxy.start(database.url);
  observer = createTestPool(database.url, 1);
  engine = startPunctualMoneyEngine(wire.url, { finishMaxWaitMs: 200, reserveMaxWaitMs: 3_000 });
  account = await createAccount(observer);
  dataSource = await createDataSource({ url: wire.url, poolSize: 2 }).initialize();
});
afterEach(async () => {
  wire.heal();
  await requireSoundBooks({ pool: observer });
  await engine.close();
  await dataSource.destroy();
  await observer.end();
  await wire.close();
  await database.drop();
});

async function stateOf(id: string): Promise<string | undefined> {
  const { rows } = await observer.query<{ state: string }>('SELECT state FROM reservation WHERE id = $1', [id]);
  return rows[0]?.state;
}

/** Resolves when the reservation has ended; the engine works on it in the background. */
async function ended(id: string): Promise<string> {
  for (;;) {
    const state = await stateOf(id);
    if (state !== undefined && state !== 'held') return state;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Settles a hold, with a copy of its answer in the same database. */
function settleStored(command: FinishCommand) {
  const { reservationId, organizationId } = command;
  const store = new ResponseStore(dataSource, DEFAULT_IDEMPOTENCY_OPTIONS);
  return engine.reservations.finishStored(command, async (signal) => ({
    ...COMPLETION,
    bodyStored: await store.keep(reservationId, organizationId, '{"cost":', '}', signal),
  }));
}

it('neither charges nor stores an undelivered response whose settlement timed out', async () => {
  const command = keyedCommand(account, 100n, claimOf('key'));
  await engine.reservations.reserve(command);
  wire.cutOff();
  const finishing = settleStored({ ...settleCommand(command, 70n), releaseOnTimeout: true });
  await expect(finishing).rejects.toMatchObject({ code: 'service_unavailable' });
  wire.heal();
  expect(await ended(command.reservationId)).toBe('released');
  expect(await recordsOf(observer, account)).toEqual([]);
});

it('charges a delivered stream and stores its copy once the database is back', async () => {
  const command = keyedCommand(account, 100n, claimOf('key'));
  await engine.reservations.reserve(command);
  wire.cutOff();
  const finishing = settleStored(settleCommand(command, 70n));
  await expect(finishing).rejects.toMatchObject({ code: 'service_unavailable' });
  wire.heal();
  expect(await ended(command.reservationId)).toBe('settled');
  expect(await recordsOf(observer, account)).toMatchObject([{ state: 'completed', charged_micro: '70' }]);
  const service = new IdempotencyService(dataSource, new Metrics(), responseMemory());
  const replay = await service.lookUp(account.organizationId, claimOf('key'), REQUEST);
  expect(replay?.body.toString()).toBe('{"cost":70}');
});

it('waits on shutdown for responses whose copy is not stored yet', async () => {
  const command = keyedCommand(account, 100n, claimOf('key'));
  await engine.reservations.reserve(command);
  wire.cutOff();
  const finishing = settleStored(settleCommand(command, 70n));
  await expect(finishing).rejects.toMatchObject({ code: 'service_unavailable' });
  const draining = engine.reservations.drain();
  wire.heal();
  expect(await draining).toBe(true);
  expect(await stateOf(command.reservationId)).toBe('settled');
});

it('releases the key of a claim whose outcome is unknown', async () => {
  await engine.reservations.reserve(keyedCommand(account, 1n, claimOf('first')));
  const command = keyedCommand(account, 100n, claimOf('lost'));
  wire.fail('toClient', { hang: true });
  await expect(engine.reservations.reserve(command)).rejects.toMatchObject({ code: 'service_unavailable' });
  wire.reset();
  wire.heal();
  expect(await ended(command.reservationId)).toBe('released');
  expect(await recordsOf(observer, account)).toMatchObject([{ key: 'first', state: 'in_progress' }]);
});
