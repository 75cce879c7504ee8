import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { ApiKeyVerifier } from '../auth/api-key-verifier';
import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { toRequestId } from '../common/ids';
import type { Principal } from '../common/principal';
import { parseStrictJson } from '../common/json/strict-json';
import { DrainService } from './drain.service';
import { GatewayExceptionFilter } from './gateway-exception.filter';

const MAX_CLIENT_REQUEST_ID_LENGTH = 128;

/**
 * What every request passes, in order:
 *
 *   1. `onRequest`  a context and its id; unknown routes end here, and all but the open ones during a stop
 *   2. `onRequest`  the API key, before a byte of the body is read (decision *auth-first*)
 *   3. body         strict JSON; any other content type ends here, unless a route brings its own parser
 *   4. the controller, with the DTO validated by its parameter pipe
 *   5. the filter   anything thrown, anywhere, becomes the envelope
 *
 * Guards and interceptors of Nest are left out on purpose: a hook does the same without an observable per request.
 */
export function installRequestPipeline(app: NestFastifyApplication, verifier: ApiKeyVerifier, clock: Clock): void {
  const server = app.getHttpAdapter().getInstance();
  addContext(server, clock, app.get(DrainService));
  addAuthentication(server, verifier);
  addBodyParser(server);
  app.useGlobalFilters(new GatewayExceptionFilter());
}

function addContext(server: FastifyInstance, clock: Clock, drain: DrainService): void {
  server.decorateRequest('context');
  server.addHook('onRequest', (request, reply, done) => {
    const requestId = toRequestId(request.id);
    request.context = {
      id: request.id,
      requestId,
      startedAtMs: clock.monotonic(),
      clientAddress: request.ip,
      clientRequestId: readClientRequestId(request),
      principal: null,
    };
    reply.header('x-request-id', requestId);
    if (drain.draining) reply.header('connection', 'close');
    const doubled = findDoubledHeader(request);
    if (request.is404) {
      done(new GatewayError('not_found', 'There is no such endpoint.'));
    } else if (doubled === 'host') {
      done(new GatewayError('validation_failed', 'The request has more than one Host header.'));
    } else if (doubled === 'authorization') {
      done(new GatewayError('invalid_api_key', 'The request has more than one Authorization header.'));
    } else if (drain.draining && request.routeOptions.config.publicRoute !== true) {
      done(new GatewayError('service_unavailable', 'This process is being stopped.', { retryAfterSeconds: 1 }));
    } else {
      done();
    }
  });
}

function readClientRequestId({ headers }: FastifyRequest): string | undefined {
  const given = headers['x-request-id'];
  return typeof given === 'string' ? given.slice(0, MAX_CLIENT_REQUEST_ID_LENGTH) : undefined;
}

/** Node keeps the first of two such lines silently; a proxy before us may have believed the second. */
function findDoubledHeader({ raw: { rawHeaders } }: FastifyRequest): 'host' | 'authorization' | null {
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host' && ++hosts > 1) return 'host';
    if (name?.length === 13 && name.toLowerCase() === 'authorization' && ++authorizations > 1) return 'authorization';
  }
  return null;
}

/** Closed by default: a route is open only when it says so with `@PublicRoute()`. */
function addAuthentication(server: FastifyInstance, verifier: ApiKeyVerifier): void {
  const authenticate = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    let verified: Principal | Promise<Principal>;
    try {
      verified = verifier.verify(request.headers.authorization, request.context.clientAddress);
    } catch (error) {
      // Only the verdict is caught: `done` runs the rest of the request.
      done(error as Error);
      return;
    }
    if (verified instanceof Promise) verified.then((principal) => admit(request, reply, principal, done), done);
    else admit(request, reply, verified, done);
  };
  server.addHook('onRoute', (route: RouteOptions) => {
    if (route.config?.publicRoute === true) return;
    route.onRequest = authenticate;
  });
}

function admit(request: FastifyRequest, reply: FastifyReply, principal: Principal, done: () => void): void {
  request.context.principal = principal;
  if (request.headers.expect !== undefined) reply.raw.writeContinue();
  done();
}

function addBodyParser(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    let value: unknown;
    try {
      refuseContentCoding(request);
      value = parseStrictJson(body as Buffer);
    } catch (error) {
      done(error as Error);
      return;
    }
    done(null, value);
  });
}

/** None is understood: a few bytes of a compressed body can become gigabytes. */
function refuseContentCoding({ headers }: FastifyRequest): void {
  const coding = headers['content-encoding'];
  if (coding === undefined || coding === 'identity') return;
  throw new GatewayError('unsupported_media_type', 'A request body must be sent without a Content-Encoding.');
}
