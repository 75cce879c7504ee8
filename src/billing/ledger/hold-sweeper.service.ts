import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import { MONEY_POOL } from '../../core/database/money-pool';
import { BILLING_OPTIONS, type BillingOptions } from './billing-options';
import { InstanceLeaseService } from './instance-lease.service';
import { PeriodicTask } from '../../core/time/periodic-task';

/** Holds ended in one transaction: few enough not to block an organization's requests. */
const BATCH = 100;

/** Ends orphaned holds: overdue ones and those of crashed processes. See `money_sweep`. */
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
      onError: (error) =>
        this.logger.warn({
          event: 'hold_sweep_failed',
          message: 'the sweep of orphaned holds failed',
          failure: String(error),
        }),
    });
  }

  /** Returns how many holds were ended; 0 also while this instance's lease is not steady for long enough to sweep. */
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
      this.logger.warn({ event: 'orphaned_holds_expired', message: 'orphaned holds expired', count: total });
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
