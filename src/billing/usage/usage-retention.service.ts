import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { CLOCK, type Clock } from '../../core/time/clock';
import { logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { RequestLogRepository } from './request-log.repository';

const DAY_MS = 86_400_000;
/** Small enough that a statement, and its locks, take some ten milliseconds. */
const BATCH = 500;

/** Deletes receipts older than the retention. All processes share the work; totals are kept. */
@Injectable()
export class UsageRetentionService implements OnModuleDestroy {
  private readonly logger = new Logger(UsageRetentionService.name);
  private readonly retentionDays: number;
  private stopping = false;

  constructor(
    private readonly requests: RequestLogRepository,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.retentionDays = config.usage.retentionDays;
  }

  onModuleDestroy(): void {
    this.stopping = true;
  }

  @Cron(CronExpression.EVERY_HOUR, scheduled('usage.retention'))
  async pruneScheduled(): Promise<void> {
    if (this.retentionDays === 0) return;
    const failure = { event: 'usage_retention_failed', message: 'expired receipts could not be deleted' };
    await logFailure(this.logger, failure, () => this.prune());
  }

  /** Resolves with the number of deleted receipts once none is older than the retention. */
  async prune(): Promise<number> {
    const before = new Date(this.clock.now() - this.retentionDays * DAY_MS);
    let total = 0;
    let removed: number;
    do {
      removed = await this.requests.prune(before, BATCH);
      total += removed;
    } while (removed > 0 && !this.stopping);
    return total;
  }
}
