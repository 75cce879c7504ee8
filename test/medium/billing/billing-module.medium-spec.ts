import { Global, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { Pool } from 'pg';
import { BillingModule } from '../../../src/billing/billing.module';
import { InstanceLeaseService } from '../../../src/billing/instance-lease.service';
import { LedgerAuditService } from '../../../src/billing/ledger-audit.service';
import { ReservationService } from '../../../src/billing/reservation.service';
import { CLOCK, systemClock } from '../../../src/common/clock';
import { createMoneyPool, MONEY_POOL } from '../../../src/database/money-pool';
import { createTestDatabase, createTestPool, type TestDatabase } from '../../harness/database';
import { createAccount, reserveCommand, settleCommand } from './money-engine';

describe('BillingModule', () => {
  let database: TestDatabase;
  let pool: Pool;
  let observer: Pool;

  beforeAll(async () => {
    database = await createTestDatabase();
    pool = createMoneyPool({ url: database.url, poolSize: 4, onPoolError: () => undefined });
    observer = createTestPool(database.url, 1);
  });
  afterAll(async () => {
    await pool.end();
    await observer.end();
    await database.drop();
  });

  it('lives with a lease, and leaves neither lease nor hold behind', async () => {
    @Global()
    @Module({
      providers: [
        { provide: MONEY_POOL, useValue: pool },
        { provide: CLOCK, useValue: systemClock },
      ],
      exports: [MONEY_POOL, CLOCK],
    })
    class Surroundings {}

    const module: TestingModule = await Test.createTestingModule({ imports: [Surroundings, BillingModule] }).compile();
    await module.init();
    const leases = async () => (await observer.query('SELECT id FROM gateway_instance')).rows;
    expect(await leases()).toEqual([{ id: module.get(InstanceLeaseService).instanceId }]);

    const reservations = module.get(ReservationService);
    const command = reserveCommand(await createAccount(observer), 10n);
    await reservations.reserve(command);
    const settling = reservations.finish(settleCommand(command, 4n, {}));
    const audit = module.get(LedgerAuditService);
    await audit.audit();
    expect(audit.state).toBe('ok');

    await module.close();
    expect(await settling).toMatchObject({ applied: true, chargedMicro: 4n });
    expect(await leases()).toEqual([]);
  });
});
