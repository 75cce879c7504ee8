import type { DataSource } from 'typeorm';
import { ReceiptRetention } from '../../../src/billing/usage/receipt-retention';
import { UsageSweeps } from '../../../src/billing/usage/usage-sweeps';
import { UsageTotalsRepository } from '../../../src/billing/usage/usage-totals.repository';
import { loadConfig } from '../../../src/core/config/load-config';
import { DayPartitions } from '../../../src/core/partitions/day-partitions';
import { systemClock } from '../../../src/core/time/clock';

/** The sweeps of one process, without its schedule. */
export function createUsageSweeps(dataSource: DataSource, settings: NodeJS.ProcessEnv = {}): UsageSweeps {
  const retention = new ReceiptRetention(dataSource, new DayPartitions(dataSource), systemClock);
  return new UsageSweeps(
    new UsageTotalsRepository(dataSource, dataSource),
    retention,
    systemClock,
    loadConfig(settings),
  );
}
