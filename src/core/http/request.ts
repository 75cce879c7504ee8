import type { ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayError } from '../errors/gateway-error';
import type { RouteRules } from './route.decorators';

declare module 'fastify' {
  interface FastifyRequest {
    /** The rules of the route. */
    rules: RouteRules;
    /** The raw JSON body, on routes with `@KeepsRawBody()`. */
    rawBody: Buffer | null;
    /** Why the JSON body cannot be passed on unchanged, on routes with `@AcceptsUnfaithful()`. */
    unfaithfulBody: GatewayError | null;
  }
}

/** The request of a guard or interceptor. Cheaper than `switchToHttp()`, which creates three functions per call. */
export function requestOf(context: ExecutionContext): FastifyRequest {
  return context.getArgByIndex<FastifyRequest>(0);
}

export function replyOf(context: ExecutionContext): FastifyReply {
  return context.getArgByIndex<FastifyReply>(1);
}
