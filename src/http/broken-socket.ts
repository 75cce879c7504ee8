import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { GatewayError } from '../common/errors/gateway-error';
import { toRequestId, uuidV7 } from '../common/ids';
import { systemClock } from '../common/clock';

const LINGER_MS = 1_000;

/**
 * Answers a connection whose bytes never became a request (malformed HTTP, oversized or late headers): the envelope,
 * written by hand, then the end. There is no request object to hang a reply on.
 */
export function answerBrokenSocket(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const failure = error instanceof GatewayError ? error : toGatewayError(error.code);
  const requestId = toRequestId(uuidV7(systemClock.now()));
  const body = JSON.stringify(failure.toEnvelope(requestId));
  socket.end(
    `HTTP/1.1 ${failure.status} ${failure.code}\r\n` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${requestId}\r\nx-should-retry: false\r\nconnection: close\r\n\r\n${body}`,
  );
  // A client that never closes its own half would keep the connection. At once would be too early: the kernel throws
  // away what is on its way to a peer that still sends.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** An answer is being written: anything added now would become part of it. Node's own handler looks at the same field. */
function isAnswering(socket: Duplex): boolean {
  return (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage?.headersSent === true;
}

function toGatewayError(code: string | undefined): GatewayError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('request_too_large', 'The header section of the request is too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('validation_failed', 'The request did not arrive in time.');
    default:
      return new GatewayError('validation_failed', 'The request is not well-formed HTTP.');
  }
}
