import type { IncomingMessage } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { ApiKeyVerifier } from '../auth/api-keys/api-key-verifier';
import type { Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import { toRequestId } from '../core/types/ids';
import type { Principal } from '../core/types/principal';
import { requirePrincipal } from '../core/types/request-context';
import type { AppConfig } from '../core/config/app-config';
import type { LimiterService } from '../auth/rate-limits/limiter.service';
import { BodyBudget } from '../core/http/body-budget';
import { BodyParser } from '../core/http/body-parser';
import { toClientAddress } from '../core/http/client-address';
import { ResponseConnection } from '../core/http/response-connection';
import { DrainService } from './drain.service';
import { LoadGuard } from '../core/http/load-guard';
import type { SessionDoor } from './session-door';

const MAX_CLIENT_REQUEST_ID_LENGTH = 128;

/** Created once: capturing a stack per refusal would double its cost. */
const OVERLOADED = new GatewayError('service_unavailable', 'The server is overloaded. Retry shortly.', {
  retryAfterSeconds: 1,
});

type Done = (error?: Error) => void;

/**
 * The stages of every request, in order:
 *
 *   1. `onRequest`  a context and its id; unknown routes end here, and all but the open ones during a
 *                   stop or an overload
 *   2. `onRequest`  the API key, on routes of the dashboard the session, before a byte of the body is read (decision
 *                   *auth-first*)
 *   3. `onRequest`  on routes that spend: callers known to be over their limits; on the others, the limit of reads
 *   4. `onRequest`  room for its body in the memory of the process, else 503
 *   5. body         strict JSON, or a form on routes that take one; any other content type ends here. When it took
 *                   long, key or session are looked at once more
 *   6. `preHandler` the `Idempotency-Key`, on routes that take one
 *   7. the interceptors, the controller and the filter (request-path.ts)
 */
export function installRequestPipeline(
  app: NestFastifyApplication,
  verifier: ApiKeyVerifier,
  limiter: LimiterService,
  door: SessionDoor,
  clock: Clock,
  { maxRequestBytes, maxMultipartBytes, maxBufferedBytes, overloadConcurrency }: AppConfig['http'],
): void {
  const server = app.getHttpAdapter().getInstance();
  const bodies = new BodyParser(new BodyBudget(maxBufferedBytes), {
    json: maxRequestBytes,
    form: maxMultipartBytes,
  });
  const drain = app.get(DrainService);
  const load = new LoadGuard(
    overloadConcurrency,
    () => drain.inFlight,
    () => clock.monotonic(),
  );
  load.start();
  server.addHook('onClose', async () => load.stop());
  addContext(server, clock, drain, load);
  addAuthentication(server, verifier, limiter, bodies, clock);
  addReadLimits(server, limiter);
  addSessions(server, door, bodies, clock);
  bodies.install(server);
}

function addContext(server: FastifyInstance, clock: Clock, drain: DrainService, load: LoadGuard): void {
  server.decorateRequest('context');
  server.addHook('onRequest', (request, reply, done) => {
    const requestId = toRequestId(request.id);
    request.context = {
      id: request.id,
      requestId,
      startedAtMs: clock.monotonic(),
      clientAddress: toClientAddress(request.ip),
      clientRequestId: readClientRequestId(request),
      principal: null,
      rateLimitHeaders: null,
      idempotencyKey: null,
      modelId: undefined,
      memory: null,
      connection: new ResponseConnection(reply.raw),
    };
    if (drain.draining) reply.raw.shouldKeepAlive = false;
    const doubled = findDoubledHeader(request);
    const hostFault = doubled === 'host' ? 'has more than one Host header' : findHostFault(request.raw);
    if (hostFault !== null) {
      done(new GatewayError('validation_failed', `The request ${hostFault}.`));
    } else if (request.is404) {
      done(new GatewayError('not_found', 'There is no such endpoint.'));
    } else if (doubled === 'authorization') {
      done(new GatewayError('invalid_api_key', 'The request has more than one Authorization header.'));
    } else if (drain.draining && request.routeOptions.config.publicRoute !== true) {
      done(
        new GatewayError('service_unavailable', 'The server is shutting down. Retry shortly.', {
          retryAfterSeconds: 1,
        }),
      );
    } else if (load.overloaded && request.routeOptions.config.publicRoute !== true) {
      done(OVERLOADED);
    } else {
      done();
    }
  });
}

function readClientRequestId({ headers }: FastifyRequest): string | undefined {
  const given = headers['x-request-id'];
  return typeof given === 'string' ? given.slice(0, MAX_CLIENT_REQUEST_ID_LENGTH) : undefined;
}

/** Node silently keeps the first of two such headers; a proxy in front may have used the second. */
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

/** A registered name or IPv4 address, or an IPv6 address in brackets, and a port (RFC 9110 section 7.2). */
const HOST = /^(?:(?:[\w.~!$&'()*+,;=-]|%[0-9a-f]{2})+|\[[0-9a-f:.]+\])(?::\d{0,5})?$/i;

/** The reason for a 400 by RFC 9112 section 3.2; `null`: none. */
function findHostFault({ headers: { host }, httpVersion }: IncomingMessage): string | null {
  if (host === undefined) return httpVersion === '1.1' ? 'has no Host header' : null;
  return HOST.test(host) ? null : 'has an invalid Host header';
}

/** Closed by default: a route is public only with `@PublicRoute()`. */
function addAuthentication(
  server: FastifyInstance,
  verifier: ApiKeyVerifier,
  limiter: LimiterService,
  bodies: BodyParser,
  clock: Clock,
): void {
  const admit = (
    { spends, form }: FastifyContextConfig,
    request: FastifyRequest,
    reply: FastifyReply,
    principal: Principal,
    done: Done,
  ): void => {
    request.context.principal = principal;
    try {
      if (spends === true) limiter.refuseEarly(request.context, principal);
      if (form !== undefined) request.formRules = form;
      request.bodyClaim = request.context.memory = bodies.claim(request, reply, principal.organizationId);
    } catch (error) {
      done(error as Error);
      return;
    }
    // HTTP/1.0 clients do not understand interim responses.
    if (request.headers.expect !== undefined && request.raw.httpVersion !== '1.0') reply.raw.writeContinue();
    done();
  };
  const verify = (request: FastifyRequest, next: (principal: Principal) => void, done: Done): void => {
    let verified: Principal | Promise<Principal>;
    try {
      verified = verifier.verify(request.headers.authorization, request.context.clientAddress);
    } catch (error) {
      // Only the verdict is caught: `done` runs the rest of the request.
      done(error as Error);
      return;
    }
    if (verified instanceof Promise) verified.then(next, done);
    else next(verified);
  };
  server.addHook('onRoute', (route: RouteOptions) => {
    const config = route.config ?? {};
    if (config.publicRoute === true || config.access !== undefined) return;
    route.onRequest = (request: FastifyRequest, reply: FastifyReply, done: Done) =>
      verify(request, (principal) => admit(config, request, reply, principal, done), done);
    route.preValidation = (request: FastifyRequest, _reply: FastifyReply, done: Done) => {
      if (!isVerdictOld(request, clock)) {
        done();
        return;
      }
      const renew = (principal: Principal): void => {
        request.context.principal = principal;
        done();
      };
      verify(request, renew, done);
    };
  });
}

/** Adds the read limit to API key routes that do not spend (decision *read-limits*). */
function addReadLimits(server: FastifyInstance, limiter: LimiterService): void {
  const limitReads = (request: FastifyRequest, _reply: FastifyReply, done: Done): void => {
    limiter.admitRead(requirePrincipal(request.context)).then(() => done(), done);
  };
  server.addHook('onRoute', (route: RouteOptions) => {
    const { publicRoute, access, spends } = route.config ?? {};
    if (publicRoute === true || access !== undefined || spends === true) return;
    route.onRequest = [...[route.onRequest ?? []].flat(), limitReads];
  });
}

/** Maximum age of a verdict when the request runs: revoked access ends within a second. */
const MAX_VERDICT_AGE_MS = 1_000;

/** Whether the body took so long that the caller's access may have changed since the first check. */
function isVerdictOld({ bodyClaim, context }: FastifyRequest, clock: Clock): boolean {
  return bodyClaim !== null && clock.monotonic() - context.startedAtMs > MAX_VERDICT_AGE_MS;
}

const DASHBOARD_API = '/dashboard/api/';

/** Routes with sessions instead of keys. A dashboard route without an access declaration fails the start. */
function addSessions(server: FastifyInstance, door: SessionDoor, bodies: BodyParser, clock: Clock): void {
  server.decorateRequest('caller', null);
  server.addHook('onRoute', (route: RouteOptions) => {
    const { access } = route.config ?? {};
    if ((access !== undefined) !== route.url.startsWith(DASHBOARD_API)) {
      throw new Error(`${route.url}: routes below ${DASHBOARD_API}, and no others, must declare their access`);
    }
    if (access === undefined) return;
    route.onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      const owner = await door.admit(request, reply);
      request.bodyClaim = request.context.memory = bodies.claim(request, reply, owner);
      if (request.headers.expect !== undefined && request.raw.httpVersion !== '1.0') reply.raw.writeContinue();
    };
    route.preValidation = async (request: FastifyRequest, reply: FastifyReply) => {
      if (isVerdictOld(request, clock)) await door.admit(request, reply);
    };
  });
}
