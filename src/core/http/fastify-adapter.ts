import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { LogController, type FastifyReply, type FastifyRequest } from 'fastify';
import type { AppConfig } from '../config/app-config';
import { GatewayError } from '../errors/gateway-error';
import type { Clock } from '../time/clock';
import { uuidV7 } from '../types/ids';
import { answerBrokenSocket } from './broken-socket';
import { toTrustProxy } from './request';
import { sendError } from './gateway-exception.filter';

/**
 * Together with the check interval below: at most 30 s for the headers and 60 s for the whole request (faults F-60).
 */
const HEADERS_TIMEOUT_MS = 28_000;
const REQUEST_TIMEOUT_MS = 58_000;
/** How often Node checks for expired connections; its default of 30 s would double the limits. */
const CONNECTION_CHECK_MS = 1_000;
/**
 * Longer than the idle timeout of common load balancers, so that they close first and never write to a closed socket.
 */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

/** Emitted instead of a response body by an interceptor that has sent the response. */
export const ANSWER_SENT = Symbol('AnswerSent');

class GatewayAdapter extends FastifyAdapter {
  override reply(response: FastifyReply, body: unknown, statusCode?: number): FastifyReply {
    return body === ANSWER_SENT ? response : super.reply(response, body, statusCode);
  }
}

/**
 * Nest's Fastify adapter with the server options of this service. Middleware is disabled: `request-path.ts` lists all
 * stages of a request.
 */
export function createFastifyAdapter(config: AppConfig, clock: Pick<Clock, 'now'>): FastifyAdapter {
  const adapter = new GatewayAdapter({
    skipMiddie: true,
    logger: false,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: toTrustProxy(config.http.trustProxy),
    bodyLimit: config.http.maxRequestBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Connections still open here are idle or past the deadline: `DrainService` has waited for the others.
    forceCloseConnections: true,
    return503OnClosing: false,
    genReqId: () => uuidV7(clock.now()),
    requestIdHeader: false,
    // `request-stages.ts` checks missing and repeated Host headers: Node would return an empty 400.
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTION_CHECK_MS,
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: 512 },
    clientErrorHandler: answerBrokenSocket,
    frameworkErrors: (_error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      // Such a path matches no route.
      sendError(request, reply, new GatewayError('not_found', 'The path of the request is malformed or too long.'));
    },
  });
  answerUnusualRequests(adapter.getInstance().server);
  return adapter;
}

/** By default Node answers these with empty bodies or closes the connection. */
function answerUnusualRequests(server: Server): void {
  // The body is requested after the key is verified (BodyInterceptor).
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  server.on('connect', (_request, socket) => {
    // Node has removed its listener; a connection reset must not end the process.
    socket.on('error', () => undefined);
    answerBrokenSocket(new GatewayError('not_found', 'This service is not a proxy.'), socket);
  });
}
