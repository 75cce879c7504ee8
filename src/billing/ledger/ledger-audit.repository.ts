import { Inject, Injectable } from '@nestjs/common';
import { DatabaseError, type Pool, type PoolClient } from 'pg';
import { CLOCK, type Clock } from '../../core/time/clock';
import { MONEY_POOL } from '../../core/database/money-pool';
import { CheckTimeoutError, readViolations, type LedgerViolation } from './ledger-checks';

/** The row that all processes share: the last audit, and when the next one is due. */
export interface AuditRecord {
  /** `null`: no audit has ever completed. */
  readonly lastCompleted: {
    readonly completedAt: Date;
    readonly durationMs: number;
    readonly violationCount: number;
    /** The first of them. */
    readonly violations: readonly Pick<LedgerViolation, 'invariant' | 'subject'>[];
  } | null;
  /** Of the latest audit when it did not complete; `null` once one completes. */
  readonly lastFailure: { readonly failedAt: Date; readonly failure: string } | null;
  readonly nextDueAt: Date;
  /** Milliseconds since the next audit is due, by the database's clock; negative before that. */
  readonly dueForMs: number;
}

export type AuditRun =
  | { readonly outcome: 'completed'; readonly durationMs: number; readonly violations: readonly LedgerViolation[] }
  | { readonly outcome: 'failed'; readonly durationMs: number; readonly failure: string }
  /** Not due, running in another process, or canceled. */
  | { readonly outcome: 'skipped' };

export interface AuditSettings {
  readonly timeoutMs: number;
  /** From the end of an audit that took this long to the next one, completed or not. */
  readonly pauseMs: (durationMs: number) => number;
  /** Cancels the query that is running. */
  readonly signal: AbortSignal;
}

interface AuditRow {
  readonly completed_at: Date | null;
  readonly duration_ms: bigint | null;
  readonly violation_count: number | null;
  readonly violations: { readonly invariant: string; readonly subject: string }[];
  readonly failed_at: Date | null;
  readonly failure: string | null;
  readonly next_due_at: Date;
  readonly due_for_ms: number;
}

const READ = `
  SELECT completed_at, duration_ms, violation_count, violations, failed_at, failure, next_due_at,
         (extract(epoch FROM clock_timestamp() - next_due_at) * 1000)::double precision AS due_for_ms
    FROM ledger_audit`;
const LOCK = `SELECT pg_try_advisory_xact_lock(hashtext('ledger_audit')) AS is_locked`;
const NEXT_DUE = `next_due_at = clock_timestamp() + make_interval(secs => $1::double precision / 1000)`;
const COMPLETE = `
  UPDATE ledger_audit
     SET ${NEXT_DUE}, completed_at = clock_timestamp(), duration_ms = $2, violation_count = $3, violations = $4,
         failed_at = NULL, failure = NULL`;
const FAIL = `UPDATE ledger_audit SET ${NEXT_DUE}, failed_at = clock_timestamp(), failure = $2`;

const MAX_STORED_VIOLATIONS = 20;
/** Time for the server to cancel a query before its connection is closed. */
const CANCEL_WAIT_MS = 1_000;

/** Audits for all processes, one at a time. */
@Injectable()
export class LedgerAuditRepository {
  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async read(): Promise<AuditRecord> {
    const { rows } = await this.pool.query<AuditRow>(READ);
    const [row] = rows;
    if (row === undefined) throw new Error('The row of ledger_audit is missing.');
    return toRecord(row);
  }

  /**
   * Audits the ledger when an audit is due and no other process runs one, and stores the outcome, also of a failed audit. An
   * advisory lock is held until the outcome is stored.
   * @throws Error when the outcome could not be stored
   */
  async runIfDue(settings: AuditSettings): Promise<AuditRun> {
    const client = await this.pool.connect();
    const cancellation = this.cancelOnAbort(client, settings.signal);
    try {
      await client.query('BEGIN');
      if (!(await lockIfDue(client))) {
        await client.query('ROLLBACK');
        return { outcome: 'skipped' };
      }
      const run = await this.audit(client, settings);
      await client.query('COMMIT');
      return run;
    } catch (error) {
      cancellation.destroy();
      if (settings.signal.aborted) return { outcome: 'skipped' };
      throw error;
    } finally {
      cancellation.end();
    }
  }

  private async audit(client: PoolClient, { timeoutMs, pauseMs, signal }: AuditSettings): Promise<AuditRun> {
    const startedAtMs = this.clock.monotonic();
    const elapsedMs = () => Math.round(this.clock.monotonic() - startedAtMs);
    await client.query('SAVEPOINT audit');
    try {
      const violations = await readViolations(client, 'money_violations', timeoutMs);
      const durationMs = elapsedMs();
      // Also resets the statement timeout.
      await client.query('ROLLBACK TO SAVEPOINT audit');
      const stored = violations.slice(0, MAX_STORED_VIOLATIONS);
      const summary = JSON.stringify(stored.map(({ invariant, subject }) => ({ invariant, subject })));
      await client.query(COMPLETE, [pauseMs(durationMs), durationMs, violations.length, summary]);
      return { outcome: 'completed', durationMs, violations };
    } catch (error) {
      const isAnswer = error instanceof CheckTimeoutError || error instanceof DatabaseError;
      const durationMs = elapsedMs();
      // The connection is lost, so the outcome cannot be stored.
      if (!isAnswer || signal.aborted) throw error;
      await client.query('ROLLBACK TO SAVEPOINT audit');
      await client.query(FAIL, [pauseMs(durationMs), error.message]);
      return { outcome: 'failed', durationMs, failure: error.message };
    }
  }

  /** Cancels what `client` is running; closes its connection when the server does not. Returns it to the pool at the end. */
  private cancelOnAbort(client: PoolClient, signal: AbortSignal): { destroy(): void; end(): void } {
    let released = false;
    let timer: NodeJS.Timeout | undefined;
    const release = (destroy: boolean): void => {
      if (released) return;
      released = true;
      client.release(destroy);
    };
    const cancel = (): void => {
      const { processID } = client as PoolClient & { readonly processID: number };
      timer = setTimeout(() => release(true), CANCEL_WAIT_MS);
      this.pool.query('SELECT pg_cancel_backend($1)', [processID]).catch(() => release(true));
    };
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
    return {
      destroy: () => release(true),
      end: () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', cancel);
        // A pending cancellation must not hit another query on this connection.
        release(signal.aborted);
      },
    };
  }
}

async function lockIfDue(client: PoolClient): Promise<boolean> {
  const lock = await client.query<{ is_locked: boolean }>(LOCK);
  if (lock.rows[0]?.is_locked !== true) return false;
  // Read under the lock: another process may just have finished.
  const { rows } = await client.query<AuditRow>(READ);
  return (rows[0]?.due_for_ms ?? 0) >= 0;
}

function toRecord(row: AuditRow): AuditRecord {
  const { completed_at: completedAt, failed_at: failedAt } = row;
  return {
    lastCompleted:
      completedAt === null
        ? null
        : {
            completedAt,
            durationMs: Number(row.duration_ms),
            violationCount: row.violation_count ?? 0,
            violations: row.violations,
          },
    lastFailure: failedAt === null ? null : { failedAt, failure: row.failure ?? '' },
    nextDueAt: row.next_due_at,
    dueForMs: row.due_for_ms,
  };
}
