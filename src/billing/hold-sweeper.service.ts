import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { MONEY_POOL } from '../database/money-pool';
import { BILLING_OPTIONS, type BillingOptions } from './billing-options';
import { InstanceLeaseService } from './instance-lease.service';
import { PeriodicTask } from '../common/periodic-task';

/** Holds ended in one transaction: few enough not to keep an organization's requests waiting. */
const BATCH = 100;

/** Ends holds that nobody else will end: overdue ones, and those of processes that died. See `money_sweep`. */
@Injectable()
export class HoldSweeperService {
  private readonly logger = new Logger(HoldSweeperService.name);
  private readonly task: PeriodicTask;

  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    private readonly lease: InstanceLeaseService,
    @Inject(BILLING_OPTIONS) options: BillingOptions,
  ) {
    this.task = new PeriodicTask({
      pauseMs: () => options.sweepIntervalMs,
      run: async () => {
        await this.sweep();
      },
      onError: (error) => this.logger.warn(`The sweep of orphaned holds failed: ${String(error)}`),
    });
  }

  /** Returns how many holds were ended; 0 also while this instance is not fit to judge the others. */
  async sweep(): Promise<number> {
    let total = 0;
    for (;;) {
      const { rows } = await this.pool.query<{ ended: number }>('SELECT money_sweep($1, $2) AS ended', [
        this.lease.instanceId,
        BATCH,
      ]);
      const ended = rows[0]?.ended ?? 0;
      total += ended;
      if (ended < BATCH) {
        break;
      }
    }
    if (total > 0) {
      this.logger.warn(`${total} orphaned holds were expired`);
    }
    return total;
  }

  start(): Promise<void> {
    return this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }
}
