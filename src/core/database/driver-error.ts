import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';

/** Unwraps the error of PostgreSQL or its driver from TypeORM's wrapper. Other errors are returned unchanged. */
export function driverErrorOf(error: unknown): unknown {
  return error instanceof QueryFailedError ? error.driverError : error;
}

/** Whether it is an error of PostgreSQL, wrapped or not, with one of these SQLSTATE codes. */
export function hasSqlState(error: unknown, ...codes: readonly string[]): boolean {
  const cause = driverErrorOf(error);
  return cause instanceof DatabaseError && codes.includes(cause.code ?? '');
}

/** SQLSTATE of a value that a check, or a trigger that acts as one, refuses. */
export const CHECK_VIOLATION = '23514';

/** Bad data, broken constraint, missing function: a retry of the statement fails again. */
export function isPermanentDatabaseError(error: unknown): boolean {
  return error instanceof DatabaseError && error.code !== undefined && PERMANENT_CLASSES.has(error.code.slice(0, 2));
}

/** SQLSTATE classes: feature, data, integrity, syntax or missing object, raised by a function. */
const PERMANENT_CLASSES = new Set(['0A', '22', '23', '42', 'P0']);

/** Another transaction locked a row for longer than `lock_timeout`: the statement has changed nothing. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE;
}

const LOCK_NOT_AVAILABLE = '55P03';
