import type { GatewayError } from '../core/errors/gateway-error';
import type { StreamSink } from '../providers/contract/chat';

/** The client side of a streamed response. */
export interface StreamReply extends StreamSink {
  readonly contentType: string;
  /** Whether the headers were sent: afterwards a failure has no status code. */
  readonly started: boolean;
  /** Sends the headers. Idempotent. */
  start(): void;
  /** Sends the headers before the first data, where the format benefits from it. */
  startSilently(): void;
  /** Ends a complete response after the charge is committed. `last` is empty for formats without final events. */
  finish(last: string): void;
  /** Ends a started response so that the client sees that it is incomplete. */
  fail(failure: GatewayError): void;
  /** Stops timers after a disconnect. */
  abandon(): void;
}
