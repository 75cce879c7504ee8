import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { PeriodicTask } from '../common/periodic-task';
import { APP_CONFIG, type AppConfig } from '../config/app-config';
import { RequestLogRepository } from './request-log.repository';

const PAUSE_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Few enough that a statement takes some ten milliseconds, and holds no lock for longer. */
const BATCH = 500;

/** Forgets receipts whose time is over. Every process does it, and they share the work; totals are kept. */
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
      onError: (error) => this.logger.warn(`Old receipts could not be removed: ${String(error)}`),
    });
  }

  /** Resolves, with their number, when no receipt is older than it may be. */
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
