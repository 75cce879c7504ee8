import { Logger } from '@nestjs/common';
import type { DatabaseError } from 'pg';
import { CHECK_VIOLATION, driverErrorOf, hasSqlState } from '../../core/database/driver-error';
import type { GatewayError } from '../../core/errors/gateway-error';
import { unavailable } from './billing-unavailable';

/** Until the clock is correct, a retry helps only at another process. */
const RETRY_AFTER_SECONDS = 10;

const logger = new Logger('Ledger');

/**
 * The refusal of a hold whose day is closed or archived (`closed_day_stays`): the clock of this process, which makes
 * the ids of requests, is at least two days behind the clock of the database. `null`: another error.
 */
export function refusalOfClosedDay(error: unknown): GatewayError | null {
  if (!hasSqlState(error, CHECK_VIOLATION)) return null;
  const cause = driverErrorOf(error) as DatabaseError;
  if (cause.where?.includes('closed_day_stays(') !== true) return null;
  logger.error({
    event: 'clock_behind_ledger',
    message:
      'the clock of this process is behind the clock of the database: the ledger has closed the day of a new request, ' +
      'which gets 503. Correct the clock',
    failure: cause.message,
  });
  return unavailable(RETRY_AFTER_SECONDS, cause);
}
