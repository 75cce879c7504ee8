import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { LogController, type FastifyReply, type FastifyRequest } from 'fastify';
import { uuidV7 } from '../common/ids';
import type { AppConfig } from '../config/app-config';
import { GatewayError } from '../common/errors/gateway-error';
import { answerBrokenSocket } from './broken-socket';
import { toTrustProxy } from './client-address';
import { sendError } from './error-reply';

/** With the time until the next look below, at most 30 s for the head of a request and 60 s for all of it (faults F-60). */
const HEADERS_TIMEOUT_MS = 28_000;
const REQUEST_TIMEOUT_MS = 58_000;
/** How often Node looks for connections past their limit; its default of 30 s would double the limits. */
const CONNECTION_CHECK_MS = 1_000;
/** Longer than the idle time of common load balancers, so that they close first and never write into a closed socket. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

/**
 * Nest's Fastify adapter with the server options of this service. Middleware is switched off: everything that a
 * request passes is named in `request-pipeline.ts`.
 */
export function createFastifyAdapter(config: AppConfig, now: () => number): FastifyAdapter {
  const adapter = new FastifyAdapter({
    skipMiddie: true,
    logger: false,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: toTrustProxy(config.http.trustProxy),
    bodyLimit: config.http.maxRequestBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // What is open when the server closes is idle or past its deadline: `DrainService` has waited for the rest.
    forceCloseConnections: true,
    return503OnClosing: false,
    genReqId: () => uuidV7(now()),
    requestIdHeader: false,
    // A missing or doubled Host is judged by the pipeline: Node would answer with an empty 400.
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTION_CHECK_MS,
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: 512 },
    clientErrorHandler: answerBrokenSocket,
    frameworkErrors: (_error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      // A path that cannot be decoded names nothing.
      sendError(request, reply, new GatewayError('not_found', 'The path of the request cannot be decoded.'));
    },
  });
  answerUnusualRequests(adapter.getInstance().server);
  return adapter;
}

/** Node answers these by itself with empty bodies, or just hangs up. */
function answerUnusualRequests(server: Server): void {
  // The body is asked for once the key is known to be good (request-pipeline.ts).
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  server.on('connect', (_request, socket) => {
    answerBrokenSocket(new GatewayError('not_found', 'This service is not a proxy.'), socket);
  });
}
