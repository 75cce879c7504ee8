import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import type { Pool, PoolClient } from 'pg';
import { MONEY_POOL } from '../../core/database/money-pool';
import { logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { LeaseLostError, type TaskLease, withTaskLease } from '../../core/scheduling/task-lease';
import { BILLING_OPTIONS, type BillingOptions } from './billing-options';
import { cancelOnAbort } from '../../core/database/cancel-on-abort';
import { storeVerification } from './ledger-audit.repository';
import { type LedgerViolation, readViolations } from './ledger-checks';

/** The open days with requests that are old enough to close, oldest first. */
const FIND_DAYS = `
  SELECT d.day::date::text AS day
    FROM generate_series(LEAST((SELECT day_of_id(r.id) FROM ended_reservation r ORDER BY r.id LIMIT 1),
                               (SELECT min(day_of_id(h.id)) FROM hold h))::timestamp,
                         (clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer - 1, interval '1 day') d (day)
   WHERE NOT EXISTS (SELECT FROM ledger_day c WHERE c.day = d.day::date AND c.closed_at IS NOT NULL)
     AND (EXISTS (SELECT FROM ended_reservation r WHERE r.id BETWEEN first_id_of(d.day::date) AND last_id_of(d.day::date))
          OR EXISTS (SELECT FROM hold h WHERE h.id BETWEEN first_id_of(d.day::date) AND last_id_of(d.day::date)))
   ORDER BY 1`;
const MAX_LOGGED_VIOLATIONS = 20;

/**
 * - `closed`: the day is closed;
 * - `held`: a hold of the day has not ended, so closing it is retried later;
 * - `broken`: an invariant of the day is broken. It stays open, and every audit reports it;
 * - `skipped`: another process is closing days.
 */
export type Closing = 'closed' | 'held' | 'broken' | 'skipped';

/** Closes the days of the ledger (README, "Closed days"), in one process at a time and one transaction per day. */
@Injectable()
export class LedgerClosingService implements OnModuleDestroy {
  private readonly logger = new Logger(LedgerClosingService.name);
  private readonly stopping = new AbortController();

  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    @Inject(BILLING_OPTIONS) private readonly options: BillingOptions,
  ) {}

  /** Cancels a closing in progress. */
  onModuleDestroy(): void {
    this.stopping.abort();
  }

  @Cron(CronExpression.EVERY_10_MINUTES, scheduled('billing.closing'))
  async closeScheduled(): Promise<void> {
    const failure = { event: 'ledger_closing_failed', message: 'a day of the ledger could not be closed' };
    await logFailure(this.logger, failure, () => this.close());
  }

  /** Closes every day that is old enough. Resolves with the outcome of each day, oldest first. */
  async close(): Promise<Closing[]> {
    const { rows } = await this.pool.query<{ day: string }>(FIND_DAYS, [this.options.closeAfterDays]);
    if (rows.length === 0) return [];
    const days = rows.map(({ day }) => day);
    return (await withTaskLease(this.pool, 'ledger_closing', (lease) => this.closeDays(days, lease))) ?? ['skipped'];
  }

  private async closeDays(days: readonly string[], lease: TaskLease): Promise<Closing[]> {
    const closings: Closing[] = [];
    for (const day of days) {
      if (this.stopping.signal.aborted) break;
      const closing = await this.closeDay(day, lease);
      closings.push(closing);
      if (closing === 'skipped') break;
    }
    return closings;
  }

  private async closeDay(day: string, lease: TaskLease): Promise<Closing> {
    const signal = AbortSignal.any([this.stopping.signal, lease.signal]);
    const client = await this.pool.connect();
    const cancellation = cancelOnAbort(this.pool, client, signal);
    try {
      await client.query('BEGIN');
      const violations = await readViolations(client, { view: 'ledger_close', day }, this.options.closingTimeoutMs);
      await lease.requireHeld(client);
      const closing = await this.store(client, day, violations);
      await client.query('COMMIT');
      return closing;
    } catch (error) {
      cancellation.destroy();
      if (signal.aborted || error instanceof LeaseLostError) return 'skipped';
      throw error;
    } finally {
      cancellation.end();
    }
  }

  private async store(client: PoolClient, day: string, violations: readonly LedgerViolation[]): Promise<Closing> {
    if (violations.length === 0) {
      this.logger.log({ event: 'ledger_day_closed', message: 'a day of the ledger is closed', day });
      return 'closed';
    }
    if (violations[0]?.invariant === 'held') return 'held';
    await storeVerification(client, day, violations);
    violations.slice(0, MAX_LOGGED_VIOLATIONS).forEach((violation) => this.reportViolation(day, violation));
    return 'broken';
  }

  private reportViolation(day: string, { invariant, subject, differenceMicro }: LedgerViolation): void {
    const facts = { day, invariant, subject, difference_micro: differenceMicro.toString() };
    const message = 'a day of the ledger is not closed, because an invariant is broken';
    this.logger.error({ event: 'ledger_day_broken', ...facts, message });
  }
}
