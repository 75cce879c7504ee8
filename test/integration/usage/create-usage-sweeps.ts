import type { DataSource } from 'typeorm';
import { RequestLogRepository } from '../../../src/billing/usage/request-log.repository';
import { UsageSweeps } from '../../../src/billing/usage/usage-sweeps';
import { UsageTotalsRepository } from '../../../src/billing/usage/usage-totals.repository';
import { loadConfig } from '../../../src/core/config/load-config';
import { systemClock } from '../../../src/core/time/clock';

/** The sweeps of one process, without its schedule. */
export function createUsageSweeps(dataSource: DataSource, settings: NodeJS.ProcessEnv = {}): UsageSweeps {
  const requests = new RequestLogRepository(dataSource);
  return new UsageSweeps(new UsageTotalsRepository(dataSource), requests, systemClock, loadConfig(settings));
}
