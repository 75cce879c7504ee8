import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../common/periodic-task';
import { UsageTotalsRepository } from './usage-totals.repository';

/** Readers add up what is not folded yet: a few seconds of it are nothing to them. */
const PAUSE_MS = 3_000;
const PAUSE_AFTER_FAILURE_MS = 30_000;
/** Few enough that no statement runs for long. */
const BATCH = 5_000;

/** Folds what requests have added into the totals. Every process does it; one at a time gets to. */
@Injectable()
export class UsageRollerService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(UsageRollerService.name);
  private readonly task: PeriodicTask;
  private stopping = false;

  constructor(private readonly totals: UsageTotalsRepository) {
    this.task = new PeriodicTask({
      pauseMs: (hasFailed) => (hasFailed ? PAUSE_AFTER_FAILURE_MS : PAUSE_MS),
      run: () => this.roll(),
      onError: (error) => this.logger.warn(`Usage could not be added up: ${String(error)}`),
    });
  }

  /** Resolves when there was nothing left to fold, or another process is at it. */
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
