import { within } from '../concurrency/within';
import { GatewayError } from '../errors/gateway-error';
import { driverErrorOf, isPermanentDatabaseError } from './driver-error';

/** Callers get their 503 within 2.5 s while the database is unavailable. */
const TIMEOUT_MS = 2_000;

/**
 * Waits for the database, with a time limit. @param refusal client message when the database does not answer.
 * @throws GatewayError `service_unavailable` when the database fails or times out
 */
export async function inTime<Answer>(work: Promise<Answer>, refusal: string): Promise<Answer> {
  try {
    return await withinDatabaseTime(TIMEOUT_MS, work);
  } catch (error) {
    if (isPermanentDatabaseError(driverErrorOf(error))) throw error;
    throw new GatewayError('service_unavailable', refusal, { retryAfterSeconds: 1, cause: error });
  }
}

/** @throws Error when `work` takes longer; the work continues and its outcome is dropped. */
export function withinDatabaseTime<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result> {
  return within(timeoutMs, work, `no answer from the database within ${timeoutMs} ms`);
}
