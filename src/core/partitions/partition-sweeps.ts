import { Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { driverErrorOf, isLockTimeout } from '../database/driver-error';
import { Metrics } from '../observability/metrics/catalogue';
import { logFailure, scheduled } from '../scheduling/scheduling.module';
import { DayPartitions } from './day-partitions';

/** Adding a partition may fail for this many days before rows go to the last one, which takes all later rows. */
export const DAYS_AHEAD = 8;

/**
 * Keeps partitions for the coming days in every table by day. Runs in every process; one process does the work.
 */
@Injectable()
export class PartitionSweeps {
  private readonly logger = new Logger('Partitions');

  constructor(
    private readonly partitions: DayPartitions,
    private readonly metrics: Metrics,
  ) {}

  @Cron(CronExpression.EVERY_HOUR, scheduled('partitions.extend'))
  extendScheduled(): Promise<void> {
    const failure = { event: 'partitions_extend_failed', message: 'partitions for the coming days could not be added' };
    return logFailure(this.logger, failure, async () => {
      for (const table of await this.partitions.tables()) {
        await logFailure(this.logger, { ...failure, message: `${failure.message} to ${table}` }, () =>
          this.extend(table),
        );
      }
      const until = await this.partitions.coveredUntil();
      if (until !== null) this.metrics.partitionsUntil.of().set(until.getTime() / 1_000);
    });
  }

  private async extend(table: string): Promise<void> {
    try {
      const { ranOut } = await this.partitions.extend(table, DAYS_AHEAD);
      if (!ranOut) return;
      this.logger.error({
        event: 'partitions_ran_out',
        table,
        message: 'rows were written to the last partition because new partitions were not added in time',
      });
    } catch (error) {
      // Another process is doing it, or the next run does, days before the partition is needed.
      if (!isLockTimeout(driverErrorOf(error))) throw error;
    }
  }
}
