import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { EVERY_3_SECONDS, logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { CLOCK, type Clock } from '../../core/time/clock';
import { ReceiptRetention } from './receipt-retention';
import { UsageTotalsRepository } from './usage-totals.repository';

const DAY_MS = 86_400_000;
/** How many deltas one statement folds: few enough to keep it short. */
const ROLL_BATCH = 5_000;
/** How many receipts one statement deletes: few enough that it and its locks take about ten milliseconds. */
const PRUNE_BATCH = 500;

/**
 * Folds the deltas of requests into the totals, and deletes receipts older than the retention. Runs in every process.
 */
@Injectable()
export class UsageSweeps implements OnModuleDestroy {
  private readonly logger = new Logger('Usage');
  private readonly retentionDays: number;
  private stopping = false;

  constructor(
    private readonly totals: UsageTotalsRepository,
    private readonly retention: ReceiptRetention,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) config: Pick<AppConfig, 'usage'>,
  ) {
    this.retentionDays = config.usage.retentionDays;
  }

  onModuleDestroy(): void {
    this.stopping = true;
  }

  /** Readers sum deltas that are not folded yet; a few seconds of deltas are cheap. */
  @Cron(EVERY_3_SECONDS, scheduled('usage.roll'))
  rollScheduled(): Promise<void> {
    const failure = { event: 'usage_roll_failed', message: 'usage deltas could not be folded' };
    return logFailure(this.logger, failure, () => this.roll());
  }

  @Cron(CronExpression.EVERY_HOUR, scheduled('usage.retention'))
  async pruneScheduled(): Promise<void> {
    if (this.retentionDays === 0) return;
    const failure = { event: 'usage_retention_failed', message: 'expired receipts could not be deleted' };
    await logFailure(this.logger, failure, () => this.prune());
  }

  /** Resolves when all deltas are folded, except those that other processes are folding. */
  async roll(): Promise<void> {
    while (!this.stopping && (await this.totals.roll(ROLL_BATCH)) === ROLL_BATCH);
  }

  /** Resolves once no removable receipt is older than the retention. Processes share the work. */
  async prune(): Promise<void> {
    const before = new Date(this.clock.now() - this.retentionDays * DAY_MS);
    while (!this.stopping && (await this.retention.prune(before, PRUNE_BATCH)) > 0);
    if (!this.stopping) await this.retention.removeDays(before);
  }
}
