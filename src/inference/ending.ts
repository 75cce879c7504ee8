import type { ErrorCode } from '../common/errors/catalog';
import { asGatewayError } from './provider-failure';

/** How a request ended, for its record. */
export interface Ending {
  readonly status: number;
  readonly errorCode: ErrorCode | null;
}

/** The status that records a client which left before its answer was complete. */
const CLIENT_CLOSED_REQUEST = 499;

/** The ending of a request that failed, or whose client did not wait for it. */
export function endingOf(error: unknown, clientGone: boolean): Ending {
  if (clientGone) return { status: CLIENT_CLOSED_REQUEST, errorCode: null };
  const { status, code } = asGatewayError(error);
  return { status, errorCode: code };
}
