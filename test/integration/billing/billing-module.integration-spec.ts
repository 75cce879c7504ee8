import { Global, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import type { Pool } from 'pg';
import { BillingModule } from '../../../src/billing/billing.module';
import { InstanceLeaseService } from '../../../src/billing/ledger/instance-lease.service';
import { LedgerAuditService } from '../../../src/billing/ledger/ledger-audit.service';
import { ReservationService } from '../../../src/billing/ledger/reservation.service';
import { CLOCK, systemClock } from '../../../src/core/time/clock';
import { APP_CONFIG } from '../../../src/core/config/app-config';
import { loadConfig } from '../../../src/core/config/load-config';
import { createMoneyPool, MONEY_POOL } from '../../../src/core/database/money-pool';
import { ReadDatabase } from '../../../src/core/database/read-database';
import { MetricsModule } from '../../../src/core/observability/metrics/metrics.module';
import { createTestDatabase, createTestPool, NO_REPLICA, type TestDatabase } from '../../harness/database';
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

  it('holds a lease while running, and leaves neither lease nor hold after shutdown', async () => {
    @Global()
    @Module({
      providers: [
        { provide: MONEY_POOL, useValue: pool },
        { provide: ReadDatabase, useValue: NO_REPLICA },
        { provide: CLOCK, useValue: systemClock },
        { provide: APP_CONFIG, useValue: loadConfig({}) },
      ],
      exports: [MONEY_POOL, ReadDatabase, CLOCK, APP_CONFIG],
    })
    class Surroundings {}

    const module: TestingModule = await Test.createTestingModule({
      imports: [Surroundings, MetricsModule, BillingModule],
    }).compile();
    await module.init();
    const leases = async () => (await observer.query('SELECT id FROM gateway_instance')).rows;
    expect(await leases()).toEqual([{ id: module.get(InstanceLeaseService).instanceId }]);

    const reservations = module.get(ReservationService);
    const command = reserveCommand(await createAccount(observer), 10n);
    await reservations.reserve(command);
    const settling = reservations.finish(settleCommand(command, 4n, {}));
    const audit = module.get(LedgerAuditService);
    while (audit.state !== 'ok') await audit.poll();

    await module.close();
    expect(await settling).toMatchObject({ applied: true, chargedMicro: 4n });
    expect(await leases()).toEqual([]);
  });
});
