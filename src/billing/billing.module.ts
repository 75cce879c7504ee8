import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../core/config/app-config';
import { SchedulingModule } from '../core/scheduling/scheduling.module';
import { BillingAccounts, LedgerService } from './ledger/ledger.service';
import { BILLING_OPTIONS, type BillingOptions, DEFAULT_BILLING_OPTIONS } from './ledger/billing-options';
import { HoldSweeperService } from './ledger/hold-sweeper.service';
import { InstanceLeaseService } from './ledger/instance-lease.service';
import { LedgerAuditRepository } from './ledger/ledger-audit.repository';
import { LedgerAuditService } from './ledger/ledger-audit.service';
import { LedgerClosingService } from './ledger/ledger-closing.service';
import { ReservationService } from './ledger/reservation.service';
import { SpendingOutlookService } from './ledger/spending-outlook.service';

/** Accounts, credits and ledger verification, without background work: the part that the command line needs. */
@Module({
  providers: [LedgerService, BillingAccounts, SpendingOutlookService],
  exports: [LedgerService, BillingAccounts, SpendingOutlookService],
})
export class LedgerModule {}

/**
 * Money: prices, holds, charges, receipts, ledger. Inference creates a hold before it calls a provider, and settles or
 * releases it before it responds. Admission is decided inside PostgreSQL, in batches, so any number of processes may
 * serve one organization. Invariant: the cost of a request is charged exactly once or not at all, and every hold ends
 * (`money_violations`).
 */
@Module({
  imports: [LedgerModule, SchedulingModule],
  providers: [
    ReservationService,
    InstanceLeaseService,
    HoldSweeperService,
    LedgerAuditRepository,
    LedgerAuditService,
    LedgerClosingService,
    {
      provide: BILLING_OPTIONS,
      inject: [APP_CONFIG],
      useFactory: (config: AppConfig): BillingOptions => ({
        ...DEFAULT_BILLING_OPTIONS,
        auditTimeoutMs: config.ledgerAuditTimeoutMs,
        closeAfterDays: config.ledgerCloseAfterDays,
        lanes: config.database.moneyLanes,
      }),
    },
  ],
  exports: [ReservationService, LedgerAuditService, LedgerModule],
})
export class BillingModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly reservations: ReservationService,
    private readonly lease: InstanceLeaseService,
  ) {}

  onApplicationBootstrap(): Promise<void> {
    return this.lease.start();
  }

  /**
   * Runs after the HTTP server has closed. Releases the lease last, because it protects the holds that are still
   * ending.
   */
  async onApplicationShutdown(): Promise<void> {
    await this.reservations.drain();
    await this.lease.stop();
  }
}
