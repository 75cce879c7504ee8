import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../common/clock';
import { BILLING_OPTIONS, type BillingOptions } from './billing-options';
import { LedgerService } from './ledger.service';
import { PeriodicTask } from '../common/periodic-task';

export interface AuditResult {
  /** Milliseconds since the epoch. */
  readonly checkedAtMs: number;
  readonly violationCount: number;
}

/** At most a tenth of one database connection goes into auditing, however large the books grow. */
const PAUSE_PER_RUN = 9;

/** Verifies the books again and again; `/ready` reports the last result. */
@Injectable()
export class LedgerAuditService {
  /** `null` until the first audit has ended. A failed audit (no database, say) leaves the last result standing. */
  lastResult: AuditResult | null = null;
  private tookMs = 0;
  private readonly logger = new Logger(LedgerAuditService.name);
  private readonly task: PeriodicTask;

  constructor(
    private readonly ledger: LedgerService,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(BILLING_OPTIONS) options: BillingOptions,
  ) {
    this.task = new PeriodicTask({
      pauseMs: () => Math.max(options.auditIntervalMs, this.tookMs * PAUSE_PER_RUN),
      run: () => this.audit(),
      onError: (error) => this.logger.warn(`The ledger could not be audited: ${String(error)}`),
    });
  }

  /** `unknown` until the first audit has ended. */
  get state(): 'ok' | 'failed' | 'unknown' {
    if (this.lastResult === null) {
      return 'unknown';
    }
    return this.lastResult.violationCount === 0 ? 'ok' : 'failed';
  }

  async audit(): Promise<void> {
    const startedAtMs = this.clock.monotonic();
    const violations = await this.ledger.verify();
    this.tookMs = this.clock.monotonic() - startedAtMs;
    this.lastResult = { checkedAtMs: this.clock.now(), violationCount: violations.length };
    for (const { invariant, subject, differenceMicro } of violations.slice(0, 20)) {
      this.logger.error(`Ledger invariant broken: ${invariant}: ${subject} is off by ${differenceMicro}`);
    }
  }

  start(): Promise<void> {
    return this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }
}
