import { Module } from '@nestjs/common';
import { PartitionsModule } from '../../core/partitions/partitions.module';
import { SchedulingModule } from '../../core/scheduling/scheduling.module';
import { ReceiptRetention } from './receipt-retention';
import { RequestLogRepository } from './request-log.repository';
import { RequestLogService } from './request-log.service';
import { UsageSeriesService } from './usage-series.service';
import { UsageSweeps } from './usage-sweeps';
import { UsageTotalsRepository } from './usage-totals.repository';

/**
 * The usage of organizations: request log, breakdown of charges, sums over time. The money functions write and count
 * the receipts (`README.md`); this module reads and sums them, and removes them after their retention.
 */
@Module({
  imports: [PartitionsModule, SchedulingModule],
  providers: [
    ReceiptRetention,
    RequestLogRepository,
    UsageTotalsRepository,
    RequestLogService,
    UsageSeriesService,
    UsageSweeps,
  ],
  exports: [RequestLogService, UsageSeriesService],
})
export class UsageModule {}
