import type { GatewayError } from '../common/errors/gateway-error';
import type { StreamSink } from '../providers/contract/chat';

/** The client's side of a streamed answer, whatever it consists of. */
export interface StreamReply extends StreamSink {
  readonly contentType: string;
  /** Whether the head has gone out: from then on a failure has no status of its own. */
  readonly started: boolean;
  /** Sends the head. Safe to repeat. */
  start(): void;
  /** Sends the head before there is anything to say, where that is of use to the client. */
  startSilently(): void;
  /** Ends a complete answer; the charge is committed. `last` is empty where the format has no last words. */
  finish(last: string): void;
  /** Ends an answer that has begun and cannot be completed, so that nobody takes it for whole. */
  fail(failure: GatewayError): void;
  /** Stops what it does by itself, for a client that has left. */
  abandon(): void;
}
