import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { EVERY_3_SECONDS, logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { UsageTotalsRepository } from './usage-totals.repository';

/** Small enough to keep statements short. */
const BATCH = 5_000;

/** Folds the deltas of requests into the totals. Runs in every process, one at a time. */
@Injectable()
export class UsageRollerService implements OnModuleDestroy {
  private readonly logger = new Logger(UsageRollerService.name);
  private stopping = false;

  constructor(private readonly totals: UsageTotalsRepository) {}

  onModuleDestroy(): void {
    this.stopping = true;
  }

  /** Readers sum deltas that are not folded yet; a few seconds of deltas are cheap. */
  @Cron(EVERY_3_SECONDS, scheduled('usage.roll'))
  rollScheduled(): Promise<void> {
    const failure = { event: 'usage_roll_failed', message: 'usage deltas could not be folded' };
    return logFailure(this.logger, failure, () => this.roll());
  }

  /** Resolves when no deltas are left, or another process is folding. */
  async roll(): Promise<void> {
    while (!this.stopping && (await this.totals.roll(BATCH)) === BATCH);
  }
}
