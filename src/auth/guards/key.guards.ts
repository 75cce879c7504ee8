import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors/gateway-error';
import { requestOf } from '../../core/http/request';
import type { Modality } from '../../core/types/modality';
import { assertModalityAllowed, requirePrincipal } from '../../core/types/request-context';
import type { StoredApiKey } from '../api-keys/api-key.repository';
import { ApiKeyVerifier } from '../api-keys/api-key-verifier';
import { LimiterService } from '../rate-limits/limiter.service';

/** The facts about a request that are known before its body is read. */
export interface KeyedCall {
  /** `null`: unknown, only for an explained request. */
  readonly clientAddress: string | null;
  /** The `@Modality()` of the route. */
  readonly modality?: Modality;
}

/** A guard that checks a key: of an actual request, or of a request that `explain` describes. */
export interface KeyGuard extends CanActivate {
  /** The check of an explanation that the guard belongs to. */
  readonly explainedBy: 'key' | 'request';
  /** @throws GatewayError the refusal that a request would get */
  judge(key: StoredApiKey, call: KeyedCall): void;
}

/** Token of the key guards, in the order in which requests pass them. */
export const KEY_GUARDS = Symbol('KEY_GUARDS');

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of the request, on routes that require one. */
    apiKey: StoredApiKey | null;
  }
}

/** Requires a valid API key (401). */
@Injectable()
export class ApiKeyGuard implements KeyGuard {
  readonly explainedBy = 'key';

  constructor(private readonly keys: ApiKeyVerifier) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    const key = this.keys.authenticate(request.headers.authorization);
    return key instanceof Promise ? key.then((found) => admit(request, found)) : admit(request, key);
  }

  judge(key: StoredApiKey): void {
    this.keys.assertUsable(key);
  }
}

function admit(request: FastifyRequest, key: StoredApiKey): true {
  request.apiKey = key;
  request.context.principal = key.principal;
  return true;
}

function keyOf({ apiKey }: FastifyRequest): StoredApiKey {
  if (apiKey === null) throw new GatewayError('internal_error', 'The request was not authenticated.');
  return apiKey;
}

/** Refuses keys of an organization that is not active, and addresses outside `allowed_ips` (403). */
@Injectable()
export class AllowedIpGuard implements KeyGuard {
  readonly explainedBy = 'key';

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    this.judge(keyOf(request), request.context);
    return true;
  }

  /** The contract has one code for both refusals, so only the messages differ. */
  judge({ organizationActive, allowedIps }: StoredApiKey, { clientAddress }: Pick<KeyedCall, 'clientAddress'>): void {
    if (!organizationActive) {
      throw new GatewayError('ip_not_allowed', 'The organization that owns this API key is not active.');
    }
    if (allowedIps === null || clientAddress === null || allowedIps.includes(clientAddress)) return;
    throw new GatewayError('ip_not_allowed', `This API key may not be used from the address ${clientAddress}.`);
  }
}

/**
 * Refuses keys whose `allowed_modalities` lack the `@Modality()` of the route (403). The modality of the model in the
 * body is checked once the body is read.
 */
@Injectable()
export class ModalityGuard implements KeyGuard {
  readonly explainedBy = 'request';

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    this.judge(keyOf(request), request.rules);
    return true;
  }

  judge({ principal }: StoredApiKey, { modality }: Pick<KeyedCall, 'modality'>): void {
    if (modality !== undefined) assertModalityAllowed(principal, modality);
  }
}

/**
 * Refuses callers over their limits before the body is read (429): on routes that spend, callers that this process has
 * just refused; on other routes with a key, callers over the read limit.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(private readonly limiter: LimiterService) {}

  canActivate(execution: ExecutionContext): boolean | Promise<boolean> {
    const { context, rules } = requestOf(execution);
    const principal = requirePrincipal(context);
    if (rules.spends !== true) return this.limiter.admitRead(principal).then(() => true);
    this.limiter.refuseEarly(context, principal);
    return true;
  }
}
