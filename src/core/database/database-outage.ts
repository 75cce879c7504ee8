import { types } from 'node:util';
import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { driverErrorOf, isLockTimeout } from './driver-error';

/**
 * SQLSTATE classes: connection, transaction state (a demoted primary is read-only), resources, operator intervention
 * (includes canceled statements), transaction rollback.
 */
const TRANSIENT_CLASSES: ReadonlySet<string> = new Set(['08', '25', '53', '57', '40']);
/** Messages of `pg` errors without a code. */
const NO_CONNECTION =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client (?:has|was))/;

/**
 * Whether a failure is transient (database unavailable, overloaded or a lock conflict), so that a retry may succeed.
 * Socket failures count only when the socket certainly was the database's.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  const cause = driverErrorOf(error);
  if (cause instanceof DatabaseError) {
    return isLockTimeout(cause) || TRANSIENT_CLASSES.has(cause.code?.slice(0, 2) ?? '');
  }
  if (!types.isNativeError(cause)) return false;
  if (NO_CONNECTION.test(cause.message)) return true;
  return 'syscall' in cause && (error instanceof QueryFailedError || cause.syscall === 'connect');
}
