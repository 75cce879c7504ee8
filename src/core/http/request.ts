import type { ServerResponse } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayError } from '../errors/gateway-error';
import type { RouteRules } from './route.decorators';
import type { ClientConnection } from '../types/request-context';

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

/** The connection of the client, as seen by the response to it. */
export class ResponseConnection implements ClientConnection {
  constructor(private readonly response: ServerResponse) {}

  get closed(): boolean {
    return this.response.destroyed;
  }

  onDisconnect(listener: () => void): void {
    this.response.on('close', () => {
      if (!this.response.writableFinished) listener();
    });
  }
}
