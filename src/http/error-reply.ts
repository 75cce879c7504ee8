import { HttpException, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode } from '../common/errors/catalog';
import { GatewayError } from '../common/errors/gateway-error';
import { toRequestId } from '../common/ids';
import type { RequestContext } from '../common/request-context';
import { isDatabaseAway } from '../database/database-away';

const logger = new Logger('ErrorReply');

/** Errors that end a request of a known caller while its body may still be on its way. */
const BODY_UNWANTED: ReadonlySet<ErrorCode> = new Set([
  'request_too_large',
  'service_unavailable',
  'rate_limited',
  'unsupported_media_type',
  'validation_failed',
]);
/** How long the rest of such a body is read and thrown away. */
const DISCARD_MS = 2_000;

/** The only writer of error bodies with an HTTP status (contract section 7). */
export function sendError(request: FastifyRequest, reply: FastifyReply, thrown: unknown): void {
  const error = toGatewayError(thrown);
  const requestId = toRequestId(request.id);
  // A request whose path cannot be decoded has none, nor has a probe of a worker.
  const context = request.context as RequestContext | undefined;
  if (error.code === 'internal_error') {
    logger.error({
      message: 'unexpected failure',
      requestId,
      client_request_id: context?.clientRequestId,
      route: request.raw.url?.split('?')[0],
      err: thrown,
    });
  }
  if (reply.sent || reply.raw.headersSent) return;
  reply
    .code(error.status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('x-request-id', requestId)
    .header('x-should-retry', error.shouldRetry ? 'true' : 'false');
  if (context?.rateLimitHeaders) reply.headers(context.rateLimitHeaders);
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', String(error.retryAfterSeconds));
  if (error.status === 401 && error.definition.surface === 'api') reply.header('www-authenticate', 'Bearer');
  if (BODY_UNWANTED.has(error.code) && !request.raw.complete && context?.principal) discardBody(request, reply);
  reply.send(JSON.stringify(error.toEnvelope(requestId)));
}

/**
 * A connection that closes while its client still sends takes the answer with it: what is on its way to a closed socket
 * makes the kernel throw away both directions. So the client gets the time to read why nobody listens.
 */
function discardBody({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection');
  raw.resume();
  setTimeout(() => {
    if (!raw.complete) raw.socket.destroy();
  }, DISCARD_MS).unref();
}

/** Translates what the framework throws; anything unknown is our own fault and tells the client nothing. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  if (isDatabaseAway(thrown)) {
    return new GatewayError('service_unavailable', 'The database cannot be reached at the moment. Try again shortly.', {
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
      return new GatewayError('invalid_json', 'The request body is shorter or longer than its Content-Length says.');
  }
  if (thrown instanceof HttpException && thrown.getStatus() === 404) {
    return new GatewayError('not_found', 'There is no such endpoint.');
  }
  return GatewayError.unexpected(thrown);
}

/** Fastify's code, also when Nest has wrapped the error into its own. */
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
