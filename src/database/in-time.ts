import { GatewayError } from '../common/errors/gateway-error';
import { driverErrorOf, isPermanentDatabaseError } from './driver-error';

/** Whoever asks must know within 2.5 s that the database is away (decisions, *Dependencies away*). */
const TIMEOUT_MS = 2_000;

/**
 * What the database answers.
 * @param refusal for people, of what cannot be done without an answer.
 * @throws GatewayError `service_unavailable` without an answer of it, in time
 */
export async function inTime<Answer>(asked: Promise<Answer>, refusal: string): Promise<Answer> {
  try {
    return await within(TIMEOUT_MS, asked);
  } catch (error) {
    if (isPermanentDatabaseError(driverErrorOf(error))) throw error;
    throw new GatewayError('service_unavailable', refusal, { retryAfterSeconds: 1, cause: error });
  }
}

/** @throws Error when `work` takes longer; it goes on then, and nobody is told of its end. */
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
