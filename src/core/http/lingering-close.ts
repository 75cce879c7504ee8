import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasBody } from './request';

/** Limits for reading and discarding the body of a refused request. */
export interface DiscardLimits {
  readonly bytes: number;
  readonly timeMs: number;
}

const MIB = 1024 * 1024;
/** For callers with a valid key or session. */
const AUTHENTICATED_DISCARD: DiscardLimits = { bytes: 32 * MIB, timeMs: 5_000 };
/** For all other callers. */
export const ANONYMOUS_DISCARD: DiscardLimits = { bytes: MIB, timeMs: 2_000 };

/** Connections of each kind that may linger at once; others close right after the response. */
const MAX_LINGERING = 1_024;
const lingering = new Map<DiscardLimits, number>();

/**
 * For a response to a request whose body is not read: a client that is still sending must be able to read the response
 * (src/http/README.md). Call it before the response is sent.
 */
export function discardUnreadBody(request: FastifyRequest, reply: FastifyReply): void {
  const { raw, headers } = request;
  if (raw.complete || !hasBody(request)) return;
  // Requests without a route have neither property.
  const isAuthenticated = request.context?.principal != null || request.caller != null;
  const limits = isAuthenticated ? AUTHENTICATED_DISCARD : ANONYMOUS_DISCARD;
  // NaN when it is unknown: neither long nor short.
  const lengthBytes = Number(headers['content-length']);
  // The connection cannot be reused after a body that is not read completely or was never requested. Clients and
  // shutdowns also end it with this response. In all other cases it can be reused, although Fastify closes it after
  // body errors.
  const closes = lengthBytes > limits.bytes || headers.expect !== undefined || !reply.raw.shouldKeepAlive;
  // The response may have to wait for earlier ones of the connection, while the body continues to arrive.
  const isShort = lengthBytes <= limits.bytes;
  if (!isShort) pauseAfter(raw, limits.bytes);
  if (closes) {
    reply.header('connection', 'close');
    lingerOnClose(raw.socket, limits);
  } else {
    // Without the condition, Node would omit its own header as well.
    if (reply.hasHeader('connection')) reply.removeHeader('connection');
    discardRestOfBody(raw, reply.raw, limits.timeMs);
  }
}

/**
 * Lets Node discard what still arrives of the body after the response, so that the connection can be reused. At the
 * time limit the connection is closed.
 */
function discardRestOfBody(request: IncomingMessage, response: ServerResponse, limitMs: number): void {
  response.once('finish', () => {
    if (request.complete) return;
    const deadline = setTimeout(() => {
      if (!request.complete) request.socket.destroy();
    }, limitMs).unref();
    request.once('end', () => clearTimeout(deadline));
  });
}

function pauseAfter(request: IncomingMessage, limitBytes: number): void {
  let discardedBytes = 0;
  request.on('data', (chunk: Buffer) => {
    discardedBytes += chunk.length;
    if (discardedBytes > limitBytes) request.pause();
  });
}

/** Makes `destroySoon`, which Node calls after the last response of a connection, close it lingeringly. */
export function lingerOnClose(socket: Socket, limits: DiscardLimits): void {
  socket.destroySoon = () => closeLingering(socket, limits);
}

/**
 * Half-closes the connection, then reads and discards the rest of the body. An immediate close would reset the
 * connection, and the client would lose the response. Past the byte limit reading stops: the client stalls and can read
 * the response until the timeout.
 */
export function closeLingering(socket: Socket, limits: DiscardLimits): void {
  delete (socket as Partial<Socket>).destroySoon;
  const count = lingering.get(limits) ?? 0;
  if (count >= MAX_LINGERING) {
    socket.destroySoon();
    return;
  }
  lingering.set(limits, count + 1);
  socket.end();
  discardInput(socket, limits.bytes);
  const deadline = setTimeout(() => socket.destroy(), limits.timeMs).unref();
  socket.once('close', () => {
    clearTimeout(deadline);
    lingering.set(limits, (lingering.get(limits) ?? 1) - 1);
  });
}

/** Detaches the connection from the HTTP parser: at most `limitBytes` more are read, unparsed. */
export function discardInput(socket: Socket, limitBytes: number): void {
  let discardedBytes = 0;
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    discardedBytes += chunk.length;
    if (discardedBytes > limitBytes) socket.pause();
  });
  socket.resume();
  // The parser reads directly from the handle. Once it stops, `resume` alone would assume that a read is in progress.
  socket._read(0);
}
