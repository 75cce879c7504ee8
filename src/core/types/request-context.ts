import { GatewayError } from '../errors/gateway-error';
import type { Modality } from './modality';
import type { RateLimits } from './rate-limits';
import type { RequestTrace } from './trace';

/** The context of one HTTP request, without its body. Created by the first hook, filled by authentication. */
export interface RequestContext {
  /** UUID version 7; the primary key of the reservation and of the usage record. */
  readonly id: string;
  /** `req_` and the id without dashes: what the client sees. */
  readonly requestId: string;
  /** Monotonic milliseconds, for latencies. */
  readonly startedAtMs: number;
  readonly clientAddress: string;
  /** The client's own `X-Request-Id`, truncated, for the log only. */
  readonly clientRequestId: string | undefined;
  /** Set once the key is verified; all routes except the probes and the document require it. */
  principal: Principal | null;
  /**
   * `x-ratelimit-*` of this request: set by the limit check, sent with every later response.
   */
  rateLimitHeaders: Readonly<Record<string, string>> | null;
  /** The `Idempotency-Key` of this request; `null`: not supported by the route, or not sent. */
  idempotencyKey: string | null;
  /** The requested model, once known: error responses name it too. */
  modelId?: string;
  /** The memory claim of the request; `null`: it has no body, or is not admitted yet. */
  memory: RequestMemory | null;
  readonly connection: ClientConnection;
  /** `null`: the request is not traced. */
  readonly trace: RequestTrace | null;
  /** The caller's own `traceparent`, unchecked, for the log only. */
  readonly traceparent?: unknown;
  /** Whether the metrics have counted this request: each is counted once. */
  isRecorded: boolean;
}

/** The connection of the client that waits for the response. */
export interface ClientConnection {
  /** Whether the connection has closed. */
  readonly closed: boolean;
  /** Calls back when the connection closes before the response is complete, unless it is already closed. */
  onDisconnect(listener: () => void): void;
}

/** The error of a request whose client has disconnected, as Node reports it. */
export function connectionLost(): Error {
  return Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}

/** Aborted when the client disconnects before the response is complete. For work that has left no record yet. */
export function disconnectSignalOf(connection: ClientConnection): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(connectionLost());
  if (connection.closed) abort();
  else connection.onDisconnect(abort);
  return controller.signal;
}

/** A share of a memory budget. */
export interface MemoryClaim {
  /** @throws GatewayError `service_unavailable` when the budget is exhausted. */
  growBy(bytes: number): void;
}

/** The share of one request in the memory budget. It ends when the response and the work for it have ended. */
export interface RequestMemory extends MemoryClaim {
  /** Calls back when the claim ends, or at once if it has ended. */
  onEnd(listener: () => void): void;
}

/** The caller of a non-public route, set by authentication. */
export function requirePrincipal(context: RequestContext): Principal {
  if (context.principal === null) throw new GatewayError('internal_error', 'The request was not authenticated.');
  return context.principal;
}

/** The memory claim of a request with a body. */
export function requireMemory({ memory }: Pick<RequestContext, 'memory'>): RequestMemory {
  if (memory === null) throw new GatewayError('internal_error', 'The request has no body.');
  return memory;
}

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext;
  }
}

/** The authenticated caller: the key and its organization. Immutable and shared between requests. */
export interface Principal {
  readonly organizationId: string;
  readonly keyId: string;
  /** `null` allows every model. */
  readonly allowedModels: ReadonlySet<string> | null;
  /** Groups such as `audio` are expanded; `null` allows every modality. */
  readonly allowedModalities: ReadonlySet<Modality> | null;
  /** Limits of the key. */
  readonly limits: RateLimits;
  /** Limits of all keys of the organization together. */
  readonly organizationLimits: RateLimits;
}

/** @throws GatewayError `modality_not_allowed` */
export function assertModalityAllowed({ allowedModalities }: Principal, modality: Modality, param = 'model'): void {
  if (allowedModalities === null || allowedModalities.has(modality)) return;
  throw new GatewayError('modality_not_allowed', `This API key may not use ${modality} models.`, { param });
}

/** The fields of a model that permissions refer to. */
interface ModelIdentity {
  /** `<vendor>/<model_name>` */
  readonly id: string;
  readonly modality: Modality;
}

/**
 * Refuses a model that exists but is not allowed for this key.
 * @throws GatewayError `model_not_allowed` or `modality_not_allowed`, naming `param`.
 */
export function assertModelAllowed(principal: Principal, model: ModelIdentity, param = 'model'): void {
  if (!isIdAllowed(principal, model.id)) {
    throw new GatewayError('model_not_allowed', `This API key may not use the model ${model.id}.`, { param });
  }
  assertModalityAllowed(principal, model.modality, param);
}

/** Whether {@link assertModelAllowed} would pass. */
export function isModelAllowed(principal: Principal, model: ModelIdentity): boolean {
  return isIdAllowed(principal, model.id) && isModalityAllowed(principal, model);
}

/** Entries are whole ids, or `<vendor>/*` for all models of a vendor. An alias is not an entry: aliases may move. */
function isIdAllowed({ allowedModels }: Principal, id: string): boolean {
  if (allowedModels === null || allowedModels.has(id)) return true;
  return allowedModels.has(`${id.slice(0, id.indexOf('/'))}/*`);
}

function isModalityAllowed({ allowedModalities }: Principal, { modality }: ModelIdentity): boolean {
  return allowedModalities === null || allowedModalities.has(modality);
}
