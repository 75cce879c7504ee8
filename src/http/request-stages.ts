import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import type { CallHandler, CanActivate, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { GatewayError } from '../core/errors/gateway-error';
import { sendError } from '../core/http/gateway-exception.filter';
import { requestOf, ResponseConnection, toClientAddress } from '../core/http/request';
import { assertRulesDecided } from '../core/http/route.decorators';
import type { Clock } from '../core/time/clock';
import type { Tracing } from '../core/observability/traces/tracing';
import { toRequestId } from '../core/types/ids';
import type { RequestTrace } from '../core/types/trace';
import type { AvailabilityCheck, DrainService } from './availability';

const MAX_CLIENT_REQUEST_ID_LENGTH = 128;
/** Fastify would read the body of these methods before the guards. `BodyInterceptor` reads it after them. */
const METHODS_WITH_BODY = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/**
 * Prepares every request before Nest sees it: sets its context and rules, refuses invalid raw requests, on unknown
 * routes too, and all requests while the process is unavailable. Startup fails when a route does not declare who may
 * call it.
 */
export function addRequestContext(
  server: FastifyInstance,
  clock: Clock,
  drain: Pick<DrainService, 'stopping'>,
  availability: Pick<AvailabilityCheck, 'refusal'>,
  tracing: Pick<Tracing, 'begin'>,
): void {
  for (const method of METHODS_WITH_BODY) server.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  server.decorateRequest('context');
  server.decorateRequest('rules');
  server.decorateRequest('apiKey', null);
  server.decorateRequest('caller', null);
  server.decorateRequest('reportedSubmission', null);
  server.decorateRequest('rawBody', null);
  server.decorateRequest('unfaithfulBody', null);
  server.addHook('onRoute', ({ url, config = {} }: RouteOptions) => assertRulesDecided(url, config));
  server.addHook('onRequest', (request, reply, done) => {
    request.rules = request.routeOptions.config;
    const startedAtMs = clock.monotonic();
    request.context = {
      id: request.id,
      requestId: toRequestId(request.id),
      startedAtMs,
      clientAddress: toClientAddress(request.ip),
      clientRequestId: readClientRequestId(request),
      principal: null,
      rateLimitHeaders: null,
      idempotencyKey: null,
      modelId: undefined,
      memory: null,
      connection: new ResponseConnection(reply.raw),
      isRecorded: false,
      traceparent: request.headers.traceparent,
      trace: beginTrace(tracing, request, reply, clock, startedAtMs),
    };
    // From the announcement on, so that load balancers have no open connection left when the process ends.
    if (drain.stopping) reply.raw.shouldKeepAlive = false;
    const fault = findRawFault(request);
    const refusal = fault === undefined && request.rules.public !== true ? availability.refusal() : null;
    // An overloaded process refuses most requests, and in a Nest guard a refusal costs a third more CPU.
    if (refusal !== null) sendError(request, reply, refusal);
    else done(fault);
  });
}

/** Traces the requests that cost money, from their arrival to the end of the response. */
function beginTrace(
  tracing: Pick<Tracing, 'begin'>,
  request: FastifyRequest,
  reply: FastifyReply,
  clock: Clock,
  startedAtMs: number,
): RequestTrace | null {
  const { operation } = request.routeOptions.config;
  if (operation === undefined) return null;
  const { method } = request;
  const route = request.routeOptions.url ?? '';
  const trace = tracing.begin(`${method} ${route}`, request.headers.traceparent, startedAtMs);
  if (trace === null) return null;
  trace.set({
    'http.request.method': method,
    'http.route': route,
    'gateway.request_id': toRequestId(request.id),
    'gateway.operation': operation,
  });
  reply.raw.once('close', () => {
    const { statusCode } = reply.raw;
    const { principal, modelId } = request.context;
    const attributes = {
      'http.response.status_code': statusCode,
      'gateway.organization_id': principal?.organizationId,
      'gateway.api_key_id': principal?.keyId,
      'gateway.model': modelId,
    };
    trace.close(clock.monotonic(), attributes, statusCode >= 500);
  });
  return trace;
}

function readClientRequestId({ headers }: FastifyRequest): string | undefined {
  const given = headers['x-request-id'];
  return typeof given === 'string' ? given.slice(0, MAX_CLIENT_REQUEST_ID_LENGTH) : undefined;
}

function findRawFault(request: FastifyRequest): GatewayError | undefined {
  const doubled = findDoubledHeader(request.raw);
  const hostFault = doubled === 'host' ? 'has more than one Host header' : findHostFault(request.raw);
  if (hostFault !== null) return new GatewayError('validation_failed', `The request ${hostFault}.`);
  if (request.is404) return new GatewayError('not_found', 'There is no such endpoint.');
  if (doubled !== 'authorization') return undefined;
  return new GatewayError('invalid_api_key', 'The request has more than one Authorization header.');
}

/** Node silently keeps the first of two such headers; a proxy in front may have used the second. */
function findDoubledHeader({ rawHeaders }: IncomingMessage): 'host' | 'authorization' | null {
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

/** A guard that returns synchronously when it can. */
export interface RequestGuard extends CanActivate {
  canActivate(context: ExecutionContext): boolean | Promise<boolean>;
}

/** One value per kind of route: API key (the default), `@Session()` and `@Public()`. */
export interface ByRoute<Value> {
  readonly key: Value;
  readonly session: Value;
  readonly public: Value;
}

/** Runs the guards of a route in order, as one Nest guard. Routes without a decorator require an API key. */
export class RouteGuards implements RequestGuard {
  constructor(readonly guards: ByRoute<readonly RequestGuard[]>) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { rules } = requestOf(context);
    if (rules.session !== undefined) return judge(this.guards.session, 0, context);
    return judge(rules.public === true ? this.guards.public : this.guards.key, 0, context);
  }
}

function judge(
  guards: readonly RequestGuard[],
  position: number,
  context: ExecutionContext,
): boolean | Promise<boolean> {
  const guard = guards[position];
  if (guard === undefined) return true;
  const verdict = guard.canActivate(context);
  if (verdict instanceof Promise) return verdict.then((passes) => passes && judge(guards, position + 1, context));
  return verdict && judge(guards, position + 1, context);
}

type Handled = ReturnType<NestInterceptor['intercept']>;

/**
 * Runs interceptors in order, as one Nest interceptor. Nest wraps each registered one in an async scope, two promises
 * and two observables, which costs more CPU per request than all guards together.
 */
export class InterceptorChain implements NestInterceptor {
  constructor(readonly interceptors: readonly NestInterceptor[]) {}

  intercept(context: ExecutionContext, next: CallHandler): Handled {
    return this.runFrom(0, context, next);
  }

  private runFrom(position: number, context: ExecutionContext, last: CallHandler): Handled {
    const interceptor = this.interceptors[position];
    if (interceptor === undefined) return last.handle();
    return interceptor.intercept(context, { handle: () => flatten(this.runFrom(position + 1, context, last)) });
  }
}

function flatten(handled: Handled): Observable<unknown> {
  if (!(handled instanceof Promise)) return handled;
  return new Observable((subscriber) => {
    handled.then(
      (observable) => void observable.subscribe(subscriber),
      (error: unknown) => subscriber.error(error),
    );
  });
}
