import { Inject, Injectable } from '@nestjs/common';
import { DatabaseError, type Pool, type PoolClient } from 'pg';
import { CLOCK, type Clock } from '../../core/time/clock';
import { MONEY_POOL } from '../../core/database/money-pool';
import { ReadDatabase } from '../../core/database/read-database';
import { cancelOnAbort } from '../../core/database/cancel-on-abort';
import { LeaseLostError, type TaskLease, withTaskLease } from '../../core/scheduling/task-lease';
import { CheckTimeoutError, DAY_CHECKS, type LedgerViolation, readDays, readViolations } from './ledger-checks';

/** The row that all processes share: the last audit, and when the next one is due. */
export interface AuditRecord {
  /** `null`: no audit has ever completed. */
  readonly lastCompleted: {
    readonly completedAt: Date;
    readonly durationMs: number;
    readonly violationCount: number;
    /** The first violations only. */
    readonly violations: readonly Pick<LedgerViolation, 'invariant' | 'subject'>[];
    /** By the database's clock. */
    readonly ageMs: number;
  } | null;
  /** The first UTC day whose requests the audit reads individually; `null`: there are no requests. */
  readonly oldestOpenDay: string | null;
  /** The failure of the latest audit; `null` once an audit completes. */
  readonly lastFailure: { readonly failedAt: Date; readonly failure: string } | null;
  readonly nextDueAt: Date;
  /** How many milliseconds the next audit has been due, by the database's clock; negative: not due yet. */
  readonly dueForMs: number;
}

export type AuditRun =
  | { readonly outcome: 'completed'; readonly durationMs: number; readonly violations: readonly LedgerViolation[] }
  | { readonly outcome: 'failed'; readonly durationMs: number; readonly failure: string }
  /** The audit was not due, is running in another process, or was canceled. */
  | { readonly outcome: 'skipped' };

export interface AuditSettings {
  readonly timeoutMs: number;
  /** How long days are verified, least recently verified first. */
  readonly daysBudgetMs: number;
  /** The pause after an audit that took this long, whether it completed or not. */
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
  readonly age_ms: number | null;
  readonly oldest_open_day: string | null;
}

/** What an audit has read. */
interface Findings {
  readonly found: readonly LedgerViolation[];
  readonly verifiedDays: readonly VerifiedDay[];
}

type Reading =
  | { readonly durationMs: number; readonly findings: Findings; readonly lagMs: number }
  | { readonly durationMs: number; readonly failure: string };

/** A day that this audit has verified. */
interface VerifiedDay {
  readonly day: string;
  readonly violations: readonly LedgerViolation[];
}

const READ = `
  SELECT completed_at, duration_ms, violation_count, violations, failed_at, failure, next_due_at,
         (extract(epoch FROM clock_timestamp() - next_due_at) * 1000)::double precision AS due_for_ms,
         (extract(epoch FROM clock_timestamp() - completed_at) * 1000)::double precision AS age_ms,
         ledger_oldest_open_day()::text AS oldest_open_day
    FROM ledger_audit`;
const NEXT_DUE = `next_due_at = clock_timestamp() + make_interval(secs => $1::double precision / 1000)`;
const COMPLETE = `
  UPDATE ledger_audit
     SET ${NEXT_DUE}, completed_at = clock_timestamp() - make_interval(secs => $5::double precision / 1000),
         duration_ms = $2, violation_count = $3, violations = $4, failed_at = NULL, failure = NULL`;
const FAIL = `UPDATE ledger_audit SET ${NEXT_DUE}, failed_at = clock_timestamp(), failure = $2`;

/** `violations` of a day that could not be closed, or that differs from its closing. */
const READ_DAY_VIOLATIONS = `
  SELECT v.invariant, v.subject, v."differenceMicro" AS difference
    FROM ledger_day d, jsonb_to_recordset(d.violations) AS v (invariant text, subject text, "differenceMicro" text)
   WHERE d.violations <> '[]' ORDER BY d.day LIMIT 1000`;

const MAX_STORED_VIOLATIONS = 20;

/** Runs audits for all processes, one at a time. */
@Injectable()
export class LedgerAuditRepository {
  constructor(
    @Inject(MONEY_POOL) private readonly pool: Pool,
    @Inject(ReadDatabase) private readonly reads: Pick<ReadDatabase, 'readReplica'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async read(): Promise<AuditRecord> {
    const { rows } = await this.pool.query<AuditRow>(READ);
    const [row] = rows;
    if (row === undefined) throw new Error('The row of ledger_audit is missing.');
    return toRecord(row);
  }

  /**
   * Audits the ledger if an audit is due and no other process has the lease, and stores the outcome, even of a failed
   * audit. The ledger is read from the replica if there is one.
   * @throws Error when the outcome could not be stored
   */
  async runIfDue(settings: AuditSettings): Promise<AuditRun> {
    const run = await withTaskLease(this.pool, 'ledger_audit', (lease) =>
      this.audit(lease, { ...settings, signal: AbortSignal.any([settings.signal, lease.signal]) }),
    );
    return run ?? { outcome: 'skipped' };
  }

  private async audit(lease: TaskLease, settings: AuditSettings): Promise<AuditRun> {
    const client = await this.pool.connect();
    const cancellation = cancelOnAbort(this.pool, client, settings.signal);
    try {
      // Checked again under the lease, because another process may just have finished.
      if (!(await isDue(client))) return { outcome: 'skipped' };
      const reading = await this.readInTime(client, settings);
      await client.query('BEGIN');
      await lease.requireHeld(client);
      const run = await storeOutcome(client, reading, settings.pauseMs(reading.durationMs));
      await client.query('COMMIT');
      return run;
    } catch (error) {
      cancellation.destroy();
      if (settings.signal.aborted || error instanceof LeaseLostError) return { outcome: 'skipped' };
      throw error;
    } finally {
      cancellation.end();
    }
  }

  /** @throws Error when the connection is lost, so that the outcome could not be stored either */
  private async readInTime(client: PoolClient, settings: AuditSettings): Promise<Reading> {
    const { timeoutMs, signal } = settings;
    const startedAtMs = this.clock.monotonic();
    const elapsedMs = () => Math.round(this.clock.monotonic() - startedAtMs);
    const read = async (reader: PoolClient, lagMs: number) => ({
      findings: await this.readBooks(reader, settings, elapsedMs),
      lagMs,
    });
    try {
      const reading = (await this.reads.readReplica(read, signal)) ?? (await readOnly(client, () => read(client, 0)));
      return { ...reading, durationMs: elapsedMs() };
    } catch (error) {
      if (!isAnswer(error) || signal.aborted) throw error;
      // A single check had only the time that was left.
      const { message } = error instanceof CheckTimeoutError ? new CheckTimeoutError(timeoutMs) : error;
      return { failure: message, durationMs: elapsedMs() };
    }
  }

  private async readBooks(reader: PoolClient, settings: AuditSettings, elapsedMs: () => number): Promise<Findings> {
    const found = await readViolations(reader, { view: 'money_violations' }, settings.timeoutMs - elapsedMs());
    return { found, verifiedDays: await this.verifyDays(reader, settings, elapsedMs) };
  }

  /**
   * Verifies at least one closed and one open day. A day that takes longer than the audit's remaining time fails the
   * audit.
   */
  private async verifyDays(
    client: PoolClient,
    { timeoutMs, daysBudgetMs }: AuditSettings,
    elapsedMs: () => number,
  ): Promise<VerifiedDay[]> {
    const verified: VerifiedDay[] = [];
    const days = await readDays(client);
    for (const kind of ['closed', 'open'] as const) {
      const endsAtMs = elapsedMs() + daysBudgetMs / 2;
      for (const day of days[kind]) {
        const check = { view: DAY_CHECKS[kind], day };
        verified.push({ day, violations: await readViolations(client, check, timeoutMs - elapsedMs()) });
        if (elapsedMs() >= endsAtMs) break;
      }
    }
    return verified;
  }
}

/** Stores what an audit or a closing found in a day; every audit reports it until a later one finds the day intact. */
export async function storeVerification(
  client: PoolClient,
  day: string,
  violations: readonly LedgerViolation[],
): Promise<void> {
  const stored = violations.slice(0, MAX_STORED_VIOLATIONS);
  await client.query(
    `INSERT INTO ledger_day (day, verified_at, violations) VALUES ($1, clock_timestamp(), $2)
     ON CONFLICT (day) DO UPDATE SET verified_at = excluded.verified_at, violations = excluded.violations`,
    [
      day,
      JSON.stringify(stored.map((violation) => ({ ...violation, differenceMicro: String(violation.differenceMicro) }))),
    ],
  );
}

async function readDayViolations(client: PoolClient): Promise<LedgerViolation[]> {
  const { rows } = await client.query<{ invariant: string; subject: string; difference: string }>(READ_DAY_VIOLATIONS);
  return rows.map(({ invariant, subject, difference }) => ({
    invariant,
    subject,
    differenceMicro: BigInt(difference),
  }));
}

/** Removes duplicates: a day that could not be closed is also checked as an open day. */
function withoutRepetition(violations: readonly LedgerViolation[]): LedgerViolation[] {
  return [...new Map(violations.map((each) => [`${each.invariant} ${each.subject}`, each])).values()];
}

async function isDue(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<AuditRow>(READ);
  return (rows[0]?.due_for_ms ?? 0) >= 0;
}

function isAnswer(error: unknown): error is CheckTimeoutError | DatabaseError {
  return error instanceof CheckTimeoutError || error instanceof DatabaseError;
}

/** A transaction, because it carries the time limits of the checks. */
async function readOnly<Result>(client: PoolClient, read: () => Promise<Result>): Promise<Result> {
  await client.query('BEGIN READ ONLY');
  const result = await read().catch(async (error: unknown) => {
    if (isAnswer(error)) await client.query('ROLLBACK');
    throw error;
  });
  await client.query('ROLLBACK');
  return result;
}

async function storeOutcome(client: PoolClient, reading: Reading, pauseMs: number): Promise<AuditRun> {
  const { durationMs } = reading;
  if ('failure' in reading) {
    await client.query(FAIL, [pauseMs, reading.failure]);
    return { outcome: 'failed', durationMs, failure: reading.failure };
  }
  const { found, verifiedDays } = reading.findings;
  for (const { day, violations } of verifiedDays) await storeVerification(client, day, violations);
  const violations = withoutRepetition([...found, ...(await readDayViolations(client))]);
  const stored = violations.slice(0, MAX_STORED_VIOLATIONS);
  const summary = JSON.stringify(stored.map(({ invariant, subject }) => ({ invariant, subject })));
  await client.query(COMPLETE, [pauseMs, durationMs, violations.length, summary, reading.lagMs]);
  return { outcome: 'completed', durationMs, violations };
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
            ageMs: row.age_ms ?? 0,
          },
    oldestOpenDay: row.oldest_open_day,
    lastFailure: failedAt === null ? null : { failedAt, failure: row.failure ?? '' },
    nextDueAt: row.next_due_at,
    dueForMs: row.due_for_ms,
  };
}
