import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { GatewayError } from '../errors/gateway-error';
import { toRequestId, uuidV7 } from '../types/ids';
import { systemClock } from '../time/clock';
import { ANONYMOUS_DISCARD, closeLingering, discardInput, lingerOnClose } from './lingering-close';

/** Connections with malformed bytes whose earlier requests are still in flight. */
const waiting = new WeakSet<Duplex>();

/**
 * Answers a connection without a parsable request (malformed HTTP, oversized or late headers): writes the envelope and
 * closes it. There is no request object to reply to. Earlier complete requests on the connection are answered first.
 */
export function answerBrokenSocket(error: Error & { code?: string }, duplex: Duplex): void {
  // HTTP servers have no other socket type.
  const socket = duplex as Socket;
  const answer = answerUnderWay(socket);
  if (error.code === 'ECONNRESET' || !socket.writable || waiting.has(socket)) {
    socket.destroy();
  } else if (answer?.req.complete === true) {
    waiting.add(socket);
    discardInput(socket, ANONYMOUS_DISCARD.bytes);
    lingerOnClose(socket, ANONYMOUS_DISCARD);
    answer.once('finish', () => {
      waiting.delete(socket);
      // Otherwise that response has closed the connection.
      if (socket.writable) answerBrokenSocket(error, socket);
    });
  } else if (answer?.headersSent === true) {
    // More bytes would become part of that response.
    socket.destroy();
  } else {
    refuse(error, socket);
  }
}

/** The response in progress; Node's default handler uses the same field. */
function answerUnderWay(socket: Duplex): ServerResponse | null {
  return (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}

function refuse(error: Error & { code?: string }, socket: Socket): void {
  const failure = error instanceof GatewayError ? error : toGatewayError(error.code);
  const requestId = toRequestId(uuidV7(systemClock.now()));
  const body = JSON.stringify(failure.toEnvelope(requestId));
  socket.write(
    `HTTP/1.1 ${failure.status} ${failure.code}\r\n` +
      `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${requestId}\r\nx-should-retry: false\r\nconnection: close\r\n\r\n${body}`,
  );
  closeLingering(socket, ANONYMOUS_DISCARD);
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
