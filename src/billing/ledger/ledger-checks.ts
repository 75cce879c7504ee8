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
}

/**
 * Views of broken invariants (migrations), each read by one statement and therefore from one snapshot. The periodic audit
 * reads `money_violations`; `record_violations` also covers all receipts and stored answers.
 */
export type LedgerView = 'money_violations' | 'record_violations';

const MAX_VIOLATIONS = 1_000;
const QUERY_CANCELED = '57014';
/** Added to the server's limit for the driver's timeout, which only matters during an outage. */
const DRIVER_MARGIN_MS = 2_000;
/** The longest delay of a Node.js timer: 24 days. */
const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * Reads one view inside the transaction that `client` has open, and sets its statement timeout.
 * @param timeoutMs `null`: no limit
 * @throws CheckTimeoutError when the server cancels the statement
 */
export async function readViolations(
  client: ClientBase,
  view: LedgerView,
  timeoutMs: number | null,
): Promise<LedgerViolation[]> {
  const limitMs = timeoutMs === null ? null : Math.min(timeoutMs, LONGEST_TIMER_MS - DRIVER_MARGIN_MS);
  await client.query(`SET LOCAL statement_timeout = ${limitMs ?? 0}`);
  const query: QueryConfig & { readonly query_timeout: number } = {
    text: `SELECT invariant, subject, difference_micro::text AS difference FROM ${view} LIMIT ${MAX_VIOLATIONS}`,
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
    throw new CheckTimeoutError(`The audit did not end within its limit of ${limitMs / 1000} s.`, { cause: error });
  }
}
