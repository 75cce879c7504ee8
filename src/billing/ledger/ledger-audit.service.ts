import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { CLOCK, type Clock } from '../../core/time/clock';
import { scheduled } from '../../core/scheduling/scheduling.module';
import { BILLING_OPTIONS, type BillingOptions } from './billing-options';
import { LedgerAuditRepository, type AuditRecord, type AuditRun } from './ledger-audit.repository';
import type { LedgerViolation } from './ledger-checks';

/**
 * - `ok`: the last audit completed, and every invariant holds;
 * - `failed`: the last audit that completed found a broken invariant, even if later ones did not complete;
 * - `stale`: the latest audit did not complete, or the audit is overdue;
 * - `unknown`: no audit has completed yet.
 */
export type LedgerState = 'ok' | 'failed' | 'stale' | 'unknown';

/** Pause after an audit as a multiple of its duration, so that audits run for at most a twentieth of the time. */
const PAUSE_PER_RUN = 19;
/** An audit is overdue when its time limit and this much more have passed since it was due. */
const OVERDUE_GRACE_MS = 300_000;
const MAX_LOGGED_VIOLATIONS = 20;

/** @param wasWatched whether this process has been running long enough for an audit to be due */
function stateOf(
  record: AuditRecord | null,
  { isOverdue, wasWatched }: { readonly isOverdue: boolean; readonly wasWatched: boolean },
): LedgerState {
  if (record?.lastCompleted != null && record.lastCompleted.violationCount > 0) return 'failed';
  if (record?.lastFailure != null || (isOverdue && wasWatched)) return 'stale';
  // A result from before a long downtime does not describe the current state.
  return record?.lastCompleted == null || isOverdue ? 'unknown' : 'ok';
}

/** Audits the ledger periodically, in one process at a time; `/ready` and the operator API report the outcome. */
@Injectable()
export class LedgerAuditService implements OnModuleDestroy {
  private record: AuditRecord | null = null;
  /** Monotonic milliseconds. */
  private recordReadAtMs = 0;
  private readonly startedAtMs: number;
  private isReportedOverdue = false;
  private isReportedUnreadable = false;
  /**
   * When to retry an audit whose outcome could not be stored, in monotonic milliseconds; `null`: no retry is pending.
   */
  private retryAtMs: number | null = null;
  private readonly stopping = new AbortController();
  private readonly logger = new Logger(LedgerAuditService.name);

  constructor(
    private readonly audits: LedgerAuditRepository,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(BILLING_OPTIONS) private readonly options: BillingOptions,
  ) {
    this.startedAtMs = clock.monotonic();
  }

  get state(): LedgerState {
    const wasWatched = this.watchedMs() > this.overdueAfterMs();
    const state = stateOf(this.record, { isOverdue: this.isOverdue(), wasWatched });
    return state !== 'failed' && this.retryAtMs !== null ? 'stale' : state;
  }

  /** The last completed audit of any process; `null`: none is known. */
  get lastCompleted(): AuditRecord['lastCompleted'] {
    return this.record?.lastCompleted ?? null;
  }

  /** Milliseconds since the last completed audit; `null`: none has completed, or this process has not read it yet. */
  get ageMs(): number | null {
    const { lastCompleted } = this;
    return lastCompleted && lastCompleted.ageMs + this.clock.monotonic() - this.recordReadAtMs;
  }

  /** Runs an audit if one is due, and refreshes the record of the last audit. */
  async poll(): Promise<void> {
    const { dueForMs } = await this.refresh();
    if (dueForMs >= 0 && this.clock.monotonic() >= (this.retryAtMs ?? 0)) {
      await this.runAudit();
      if (this.stopping.signal.aborted) return;
      await this.refresh();
    }
    this.isReportedUnreadable = false;
    this.reportOverdue();
  }

  /** Reads the record of the last audit. */
  async refresh(): Promise<AuditRecord> {
    const record = await this.audits.read();
    this.record = record;
    this.recordReadAtMs = this.clock.monotonic();
    // Another process has stored an outcome in the meantime.
    if (record.dueForMs < 0) this.retryAtMs = null;
    return record;
  }

  @Cron(CronExpression.EVERY_10_SECONDS, scheduled('billing.audit'))
  async pollScheduled(): Promise<void> {
    try {
      await this.poll();
    } catch (error) {
      this.reportUnreadable(error);
    }
  }

  /** Cancels a running audit. */
  onModuleDestroy(): void {
    this.stopping.abort();
  }

  private async runAudit(): Promise<void> {
    const { auditIntervalMs, auditTimeoutMs: timeoutMs, daysBudgetMs } = this.options;
    const pauseMs = (durationMs: number): number => Math.max(auditIntervalMs, durationMs * PAUSE_PER_RUN);
    const startedAtMs = this.clock.monotonic();
    try {
      const { signal } = this.stopping;
      this.report(await this.audits.runIfDue({ timeoutMs, daysBudgetMs, pauseMs, signal }));
    } catch (error) {
      const endedAtMs = this.clock.monotonic();
      this.retryAtMs = endedAtMs + pauseMs(endedAtMs - startedAtMs);
      throw error;
    }
  }

  private overdueAfterMs(): number {
    return this.options.auditTimeoutMs + OVERDUE_GRACE_MS;
  }

  private watchedMs(): number {
    return this.clock.monotonic() - this.startedAtMs;
  }

  private isOverdue(): boolean {
    const sinceReadMs = this.clock.monotonic() - this.recordReadAtMs;
    return (this.record?.dueForMs ?? 0) + sinceReadMs > this.overdueAfterMs();
  }

  private report(run: AuditRun): void {
    if (run.outcome === 'skipped') return;
    const { durationMs } = run;
    if (run.outcome === 'failed') {
      const { failure } = run;
      const message = 'the ledger audit failed, so its invariants are not verified';
      this.logger.error({ event: 'ledger_audit_failed', failure, duration_ms: durationMs, ...this.age(), message });
    } else {
      run.violations.slice(0, MAX_LOGGED_VIOLATIONS).forEach((violation) => this.reportViolation(violation));
    }
  }

  private reportViolation({ invariant, subject, differenceMicro }: LedgerViolation): void {
    const facts = { invariant, subject, difference_micro: differenceMicro.toString() };
    this.logger.error({ event: 'ledger_invariant_broken', ...facts, message: 'a ledger invariant is broken' });
  }

  private reportOverdue(): void {
    const isOverdue = this.isOverdue() && this.watchedMs() > this.overdueAfterMs();
    if (isOverdue && !this.isReportedOverdue) {
      const message = 'the ledger audit is overdue';
      this.logger.error({ event: 'ledger_audit_overdue', ...this.age(), message });
    }
    this.isReportedOverdue = isOverdue;
  }

  /** How long ago the invariants were last verified, for the log. */
  private age(): object {
    const completedAt = this.record?.lastCompleted?.completedAt.toISOString() ?? null;
    return { last_completed_at: completedAt, age_ms: this.ageMs && Math.round(this.ageMs) };
  }

  /** Logs once per database outage. */
  private reportUnreadable(error: unknown): void {
    if (this.isReportedUnreadable || this.stopping.signal.aborted) return;
    this.isReportedUnreadable = true;
    const message = 'the ledger could not be audited';
    this.logger.error({ event: 'ledger_audit_failed', failure: String(error), message });
  }
}
