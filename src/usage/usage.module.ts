import { Module } from '@nestjs/common';
import { RequestLogRepository } from './request-log.repository';
import { RequestLogService } from './request-log.service';
import { UsageRetentionService } from './usage-retention.service';
import { UsageRollerService } from './usage-roller.service';
import { UsageSeriesService } from './usage-series.service';
import { UsageTotalsRepository } from './usage-totals.repository';

/**
 * What organizations have used: the log of their requests, how a charge came about, sums over time. The receipts are
 * written by the money functions, and counted by the database as they are (`README.md`); here they are read, added up,
 * and forgotten when their time is over.
 */
@Module({
  providers: [
    RequestLogRepository,
    UsageTotalsRepository,
    RequestLogService,
    UsageSeriesService,
    UsageRollerService,
    UsageRetentionService,
  ],
  exports: [RequestLogService, UsageSeriesService],
})
export class UsageModule {}
