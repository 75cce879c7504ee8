import { GatewayError } from './errors/gateway-error';
import type { Principal } from './principal';

/** What the service knows of one HTTP request besides its body. Made by the first hook, filled by authentication. */
export interface RequestContext {
  /** UUID version 7; the primary key of the reservation and of the usage record. */
  readonly id: string;
  /** `req_` and the id without dashes: what the client sees (decision *request-id*). */
  readonly requestId: string;
  /** Monotonic milliseconds, for latencies. */
  readonly startedAtMs: number;
  readonly clientAddress: string;
  /** The client's own `X-Request-Id`, cut to a sensible length: for the log only. */
  readonly clientRequestId: string | undefined;
  /** Set once the key has been verified; every route but the probes and the document requires it. */
  principal: Principal | null;
  /** `x-ratelimit-*` of this request (decision *rate-headers*): set when it was judged, sent with every answer after that. */
  rateLimitHeaders: Readonly<Record<string, string>> | null;
  /** The `Idempotency-Key` of this request; `null`: the route takes none, or none was given. */
  idempotencyKey: string | null;
  /** Room in the memory of the process for what the request refers to; `null`: it has no body, or is not admitted yet. */
  memory: MemoryClaim | null;
}

/** One request's part of what all requests under way may take together. It ends when the request has been answered. */
export interface MemoryClaim {
  /** @throws GatewayError `service_unavailable` when there is no such room. */
  growBy(bytes: number): void;
}

/** The caller of a route that is not public. Authentication has put it there, or the request would not have come so far. */
export function requirePrincipal(context: RequestContext): Principal {
  if (context.principal === null) throw new GatewayError('internal_error', 'The request was not authenticated.');
  return context.principal;
}

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext;
  }
}
