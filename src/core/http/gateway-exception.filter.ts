import { types } from 'node:util';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError } from '../errors/gateway-error';
import { traceFieldsOf } from '../observability/traces/tracing';
import { toRequestId } from '../types/ids';
import type { RequestContext } from '../types/request-context';
import { isDatabaseUnavailable } from '../database/database-outage';
import { discardUnreadBody } from './lingering-close';

const logger = new Logger('GatewayExceptionFilter');

declare module 'fastify' {
  interface FastifyInstance {
    /** Records the refusal of a request for the metrics. Processes without an API have none. */
    noteRefusal?: (request: FastifyRequest, error: GatewayError) => void;
  }
}

/** Converts every error on the request path to the error envelope. */
@Catch()
export class GatewayExceptionFilter implements ExceptionFilter {
  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendError(http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>(), thrown);
  }
}

/** The only writer of error responses. */
export function sendError(request: FastifyRequest, reply: FastifyReply, thrown: unknown): void {
  const error = toGatewayError(thrown);
  // Requests with an undecodable path and worker probes have no context.
  const context = request.context as RequestContext | undefined;
  const requestId = context?.requestId ?? toRequestId(request.id);
  // A replayed failure was logged by its first request.
  if (error.code === 'internal_error' && !reply.hasHeader('idempotent-replayed')) {
    logger.error({
      event: 'unexpected_failure',
      message: 'unexpected failure',
      request_id: requestId,
      ...(context !== undefined && traceFieldsOf(context)),
      client_request_id: context?.clientRequestId,
      // Not the path, which may be signed.
      route: request.routeOptions.url,
      err: thrown,
    });
  }
  request.server.noteRefusal?.(request, error);
  context?.trace?.set({ 'error.type': error.code });
  if (reply.sent || reply.raw.headersSent) return;
  reply
    .code(error.status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('x-request-id', requestId)
    .header('x-should-retry', error.shouldRetry ? 'true' : 'false');
  if (request.routeOptions.config.spends === true) {
    // Error responses are never charged.
    reply.header('x-llm-cost-micro', '0');
    if (context?.modelId !== undefined) reply.header('x-llm-model', context.modelId);
  }
  if (context?.rateLimitHeaders) reply.headers(context.rateLimitHeaders);
  if (error.headers !== undefined) reply.headers(error.headers);
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', String(error.retryAfterSeconds));
  if (error.status === 401 && error.definition.surface === 'api') reply.header('www-authenticate', 'Bearer');
  discardUnreadBody(request, reply);
  reply.send(JSON.stringify(error.toEnvelope(requestId)));
}

/** Translates framework errors; unknown errors become `internal_error` without details. */
function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  if (isDatabaseUnavailable(thrown) || isServerLost(thrown)) {
    return new GatewayError('service_unavailable', 'The database is unavailable. Retry shortly.', {
      retryAfterSeconds: 1,
      cause: thrown,
    });
  }
  switch (frameworkCode(thrown)) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new GatewayError('request_too_large', 'The request body is larger than this service accepts.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new GatewayError(
        'unsupported_media_type',
        'This endpoint does not accept the Content-Type of the request.',
      );
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'ECONNRESET':
      return new GatewayError('invalid_json', 'The length of the request body does not match its Content-Length.');
  }
  if (thrown instanceof HttpException && thrown.getStatus() === 404) {
    return new GatewayError('not_found', 'There is no such endpoint.');
  }
  return GatewayError.unexpected(thrown);
}

/**
 * Whether a connection to a server broke, such as to PostgreSQL while it opens. A broken client connection has the same
 * error code, but names no system call.
 */
function isServerLost(thrown: unknown): boolean {
  return frameworkCode(thrown) === 'ECONNRESET' && types.isNativeError(thrown) && 'syscall' in thrown;
}

/** Fastify's error code, even when Nest has wrapped the error. */
function frameworkCode(thrown: unknown): string | undefined {
  for (const candidate of [thrown, thrown instanceof Error ? thrown.cause : undefined]) {
    if (
      typeof candidate === 'object' &&
      candidate !== null &&
      'code' in candidate &&
      typeof candidate.code === 'string'
    ) {
      return candidate.code;
    }
  }
  return undefined;
}
