import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../../core/time/periodic-task';
import { UsageTotalsRepository } from './usage-totals.repository';

/** Readers sum deltas that are not folded yet; a few seconds of deltas are cheap. */
const PAUSE_MS = 3_000;
const PAUSE_AFTER_FAILURE_MS = 30_000;
/** Small enough to keep statements short. */
const BATCH = 5_000;

/** Folds the deltas of requests into the totals. Runs in every process, one at a time. */
@Injectable()
export class UsageRollerService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(UsageRollerService.name);
  private readonly task: PeriodicTask;
  private stopping = false;

  constructor(private readonly totals: UsageTotalsRepository) {
    this.task = new PeriodicTask({
      pauseMs: (hasFailed) => (hasFailed ? PAUSE_AFTER_FAILURE_MS : PAUSE_MS),
      run: () => this.roll(),
      onError: (error) =>
        this.logger.warn({
          event: 'usage_roll_failed',
          message: 'usage deltas could not be folded',
          failure: String(error),
        }),
    });
  }

  /** Resolves when no deltas are left, or another process is folding. */
  async roll(): Promise<void> {
    while (!this.stopping && (await this.totals.roll(BATCH)) === BATCH);
  }

  onApplicationBootstrap(): void {
    void this.task.start();
  }

  onApplicationShutdown(): Promise<void> {
    this.stopping = true;
    return this.task.stop();
  }
}
