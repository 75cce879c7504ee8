import type { ErrorCode } from '../core/errors/catalog';
import { asGatewayError } from './provider-failure';

/** How a request ended, for its record. */
export interface Ending {
  readonly status: number;
  readonly errorCode: ErrorCode | null;
}

/** Recorded when the client disconnected before the response was complete. */
const CLIENT_CLOSED_REQUEST = 499;

/** The ending of a request that failed or whose client disconnected. */
export function endingOf(error: unknown, clientGone: boolean): Ending {
  if (clientGone) return { status: CLIENT_CLOSED_REQUEST, errorCode: null };
  const { status, code } = asGatewayError(error);
  return { status, errorCode: code };
}
