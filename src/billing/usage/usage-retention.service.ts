import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { PeriodicTask } from '../../core/time/periodic-task';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { RequestLogRepository } from './request-log.repository';

const PAUSE_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Small enough that a statement, and its locks, take some ten milliseconds. */
const BATCH = 500;

/** Deletes receipts older than the retention. All processes share the work; totals are kept. */
@Injectable()
export class UsageRetentionService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(UsageRetentionService.name);
  private readonly task: PeriodicTask;
  private readonly retentionDays: number;
  private stopping = false;

  constructor(
    private readonly requests: RequestLogRepository,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) config: AppConfig,
  ) {
    this.retentionDays = config.usage.retentionDays;
    this.task = new PeriodicTask({
      pauseMs: () => PAUSE_MS,
      run: async () => {
        await this.prune();
      },
      onError: (error) =>
        this.logger.warn({
          event: 'usage_retention_failed',
          message: 'expired receipts could not be deleted',
          failure: String(error),
        }),
    });
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

  onApplicationBootstrap(): void {
    if (this.retentionDays > 0) void this.task.start();
  }

  onApplicationShutdown(): Promise<void> {
    this.stopping = true;
    return this.task.stop();
  }
}
