import { DatabaseError, type ClientBase, type QueryConfig } from 'pg';
import type { Micro } from '../../core/types/micro';

/** A broken invariant: which one, of which row, and by how much. */
export interface LedgerViolation {
  readonly invariant: string;
  readonly subject: string;
  readonly differenceMicro: Micro;
}

/** A check did not end within its time limit, so its invariants are not verified. */
export class CheckTimeoutError extends Error {
  override readonly name = 'CheckTimeoutError';

  constructor(limitMs: number, options?: ErrorOptions) {
    super(`The audit did not complete within its limit of ${limitMs / 1000} s.`, options);
  }
}

/**
 * Checks that return broken invariants (`migrations/views` and `migrations/functions`), each one statement and
 * therefore one snapshot. The periodic audit reads `money_violations` and some closed days; `record_violations` also
 * covers all receipts and stored answers.
 */
export type LedgerCheck =
  | { readonly view: 'money_violations' | 'record_violations' }
  /** `day`: a UTC date. `ledger_close` closes the day unless it returns violations. */
  | {
      readonly view: 'closed_day_violations' | 'balance_violations' | 'archiving_violations' | 'ledger_close';
      readonly day: string;
    };

const MAX_VIOLATIONS = 1_000;
const QUERY_CANCELED = '57014';
/** Added to the server's limit to get the driver's timeout, which only matters during an outage. */
const DRIVER_MARGIN_MS = 2_000;
/** The longest delay of a Node.js timer: 24 days. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Compiling a check takes longer than running it, and a check of many requests groups them in memory. */
const PLANNER_SETTINGS = `SET LOCAL jit = off; SET LOCAL work_mem = '64MB'`;

/**
 * Runs one check inside the open transaction of `client`, and sets the transaction's statement timeout.
 * @param timeoutMs `null`: no limit
 * @throws CheckTimeoutError when the server cancels the statement
 */
export async function readViolations(
  client: ClientBase,
  check: LedgerCheck,
  timeoutMs: number | null,
): Promise<LedgerViolation[]> {
  const limitMs =
    timeoutMs === null ? null : Math.max(1, Math.min(Math.round(timeoutMs), LONGEST_TIMER_MS - DRIVER_MARGIN_MS));
  await client.query(`SET LOCAL statement_timeout = ${limitMs ?? 0}; ${PLANNER_SETTINGS}`);
  const [source, values] = 'day' in check ? [`${check.view}($1)`, [check.day]] : [check.view, []];
  const query: QueryConfig & { readonly query_timeout: number } = {
    text: `SELECT invariant, subject, difference_micro::text AS difference FROM ${source} LIMIT ${MAX_VIOLATIONS}`,
    values,
    query_timeout: limitMs === null ? LONGEST_TIMER_MS : limitMs + DRIVER_MARGIN_MS,
  };
  try {
    const { rows } = await client.query<{ invariant: string; subject: string; difference: string }>(query);
    return rows.map(({ invariant, subject, difference }) => ({
      invariant,
      subject,
      differenceMicro: BigInt(difference),
    }));
  } catch (error) {
    const isCanceled = error instanceof DatabaseError && error.code === QUERY_CANCELED;
    if (limitMs === null || !isCanceled) throw error;
    throw new CheckTimeoutError(limitMs, { cause: error });
  }
}

/** All UTC days with requests, up to today. */
export interface LedgerDays {
  readonly closed: readonly string[];
  readonly open: readonly string[];
}

const READ_DAYS = `
  SELECT d.day::text AS day, k.closed_at IS NOT NULL AS is_closed
    FROM (SELECT day FROM ledger_day
          UNION
          SELECT generate_series(
                   COALESCE((SELECT (max(c.day) + 1)::timestamp FROM ledger_day c WHERE c.closed_at IS NOT NULL),
                            LEAST((SELECT day_of_id(r.id) FROM ended_reservation r ORDER BY r.id LIMIT 1),
                                  (SELECT min(day_of_id(h.id)) FROM hold h))::timestamp),
                   (clock_timestamp() AT TIME ZONE 'UTC')::date, interval '1 day')::date) d
    LEFT JOIN ledger_day k ON k.day = d.day
   ORDER BY COALESCE(k.verified_at, '-infinity'), d.day DESC`;

/** Least recently verified days first. */
export async function readDays(client: ClientBase): Promise<LedgerDays> {
  const { rows } = await client.query<{ day: string; is_closed: boolean }>(READ_DAYS);
  const days = (isClosed: boolean): string[] =>
    rows.filter(({ is_closed: is }) => is === isClosed).map(({ day }) => day);
  return { closed: days(true), open: days(false) };
}

/** The checks of a single day: all checks of a closed day, and those of an open day that `money_violations` omits. */
export const DAY_CHECKS = { closed: 'closed_day_violations', open: 'balance_violations' } as const;
