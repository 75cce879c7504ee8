import { QueryFailedError } from 'typeorm';

/** What PostgreSQL or its driver said, which TypeORM wraps into an error of its own. Anything else is as it was. */
export function driverErrorOf(error: unknown): unknown {
  return error instanceof QueryFailedError ? error.driverError : error;
}
