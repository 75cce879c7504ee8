import { Inject, Injectable, Logger } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import type { Pool } from 'pg';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { MONEY_POOL } from '../../core/database/money-pool';
import { EVERY_5_SECONDS, logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { InstanceLeaseService } from './instance-lease.service';

/** Holds that one transaction ends: few enough not to block an organization's requests. */
const BATCH = 100;

/** Ends orphaned holds: those past their deadline and those of crashed processes. See `money_sweep`. */
@Injectable()
export class HoldSweeperService {
  private readonly logger = new Logger(HoldSweeperService.name);

  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    private readonly lease: InstanceLeaseService,
    private readonly metrics: Metrics,
  ) {}

  /** Waits until this process has a lease, because a hold whose owner has none counts as orphaned. */
  @Cron(EVERY_5_SECONDS, scheduled('billing.holds'))
  async sweepScheduled(): Promise<void> {
    if (!this.lease.isStarted) return;
    const failure = { event: 'hold_sweep_failed', message: 'the sweep of orphaned holds failed' };
    await logFailure(this.logger, failure, () => this.sweep());
  }

  /**
   * Returns how many holds were ended. Always 0 until this instance's lease has been steady for long enough to sweep.
   */
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
      this.metrics.holdsSwept.of().inc(total);
      this.logger.warn({ event: 'orphaned_holds_expired', message: 'orphaned holds expired', count: total });
    }
    return total;
  }
}
