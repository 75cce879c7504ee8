import { GatewayError } from '../errors/gateway-error';
import { driverErrorOf, isPermanentDatabaseError } from './driver-error';

/** Callers get their 503 within 2.5 s while the database is unavailable. */
const TIMEOUT_MS = 2_000;

/**
 * Waits for the database, with a time limit. @param refusal message for the client when the database does not answer.
 * @throws GatewayError `service_unavailable` when the database fails or times out
 */
export async function inTime<Answer>(asked: Promise<Answer>, refusal: string): Promise<Answer> {
  try {
    return await within(TIMEOUT_MS, asked);
  } catch (error) {
    if (isPermanentDatabaseError(driverErrorOf(error))) throw error;
    throw new GatewayError('service_unavailable', refusal, { retryAfterSeconds: 1, cause: error });
  }
}

/** @throws Error when `work` takes longer; the work continues and its outcome is dropped. */
export async function within<Result>(timeoutMs: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer from the database within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
