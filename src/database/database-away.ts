import { types } from 'node:util';
import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { driverErrorOf, isLockTimeout } from './driver-error';

/** SQLSTATE classes: connection, resources, operator intervention (a statement that was given up is one), transaction rollback. */
const PASSING_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '40']);
/** What `pg` says where there is no code. */
const NO_CONNECTION =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has)/;

/**
 * Whether a failure is that of a database that is away, too busy or in the middle of something else, so that the same
 * request may succeed a little later. Failures of a socket count only where it surely was the database's.
 */
export function isDatabaseAway(error: unknown): boolean {
  const cause = driverErrorOf(error);
  if (cause instanceof DatabaseError) {
    return isLockTimeout(cause) || PASSING_CLASSES.has(cause.code?.slice(0, 2) ?? '');
  }
  if (!types.isNativeError(cause)) return false;
  if (NO_CONNECTION.test(cause.message)) return true;
  return 'syscall' in cause && (error instanceof QueryFailedError || cause.syscall === 'connect');
}
