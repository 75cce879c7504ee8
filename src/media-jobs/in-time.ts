import { isPermanentDatabaseError } from '../billing/money-connection';
import { GatewayError } from '../common/errors/gateway-error';
import { driverErrorOf } from '../database/driver-error';
import { within } from '../idempotency/within';

/** Whoever asks must know within 2.5 s that the database is away (decisions, *Dependencies away*). */
const TIMEOUT_MS = 2_000;

/** What the database answers. @throws GatewayError `service_unavailable` without an answer of it, in time */
export async function inTime<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await within(TIMEOUT_MS, asked);
  } catch (error) {
    if (isPermanentDatabaseError(driverErrorOf(error))) throw error;
    throw new GatewayError('service_unavailable', 'Jobs cannot be looked up at the moment.', {
      retryAfterSeconds: 1,
      cause: error,
    });
  }
}
