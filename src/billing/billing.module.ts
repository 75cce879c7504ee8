import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { BILLING_OPTIONS, DEFAULT_BILLING_OPTIONS } from './billing-options';
import { HoldSweeperService } from './hold-sweeper.service';
import { InstanceLeaseService } from './instance-lease.service';
import { LedgerAuditService } from './ledger-audit.service';
import { LedgerModule } from './ledger.module';
import { ReservationService } from './reservation.service';

/**
 * Money: prices, holds, charges, receipts, ledger. Inference reserves before it calls a provider and finishes before it
 * answers; all admission is decided inside PostgreSQL, in batches, so any number of processes may share an organization.
 * Invariant: what a request cost is charged exactly once or not at all, and every hold ends (`money_violations`).
 */
@Module({
  imports: [LedgerModule],
  providers: [
    ReservationService,
    InstanceLeaseService,
    HoldSweeperService,
    LedgerAuditService,
    { provide: BILLING_OPTIONS, useValue: DEFAULT_BILLING_OPTIONS },
  ],
  exports: [ReservationService, LedgerAuditService, LedgerModule],
})
export class BillingModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly reservations: ReservationService,
    private readonly lease: InstanceLeaseService,
    private readonly sweeper: HoldSweeperService,
    private readonly audit: LedgerAuditService,
  ) {}

  /** The lease comes first: a hold whose owner has none counts as orphaned. */
  async onApplicationBootstrap(): Promise<void> {
    await this.lease.start();
    void this.sweeper.start();
    void this.audit.start();
  }

  /** Runs after the HTTP server has closed. The lease goes last: it protects the holds that are still being ended. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.sweeper.stop(), this.audit.stop()]);
    await this.reservations.drain();
    await this.lease.stop();
  }
}
