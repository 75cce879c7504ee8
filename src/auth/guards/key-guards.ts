import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../core/errors/gateway-error';
import { requestOf } from '../../core/http/request';
import { requiresApiKey } from '../../core/http/route.decorators';
import type { Modality } from '../../core/types/modality';
import { assertModalityAllowed } from '../../core/types/principal';
import { ApiKeyVerifier } from '../api-keys/api-key-verifier';
import type { StoredApiKey } from '../api-keys/stored-api-key';

/** The facts about a request that are known before its body. */
export interface KeyedCall {
  /** `null`: unknown, which only an explained request is. */
  readonly clientAddress: string | null;
  /** The `@Modality()` of the route. */
  readonly modality?: Modality;
}

/** A guard that judges a key. A request passes it on the wire; `explain` asks it about a described request. */
export interface KeyGuard extends CanActivate {
  /** The check of an explanation that the guard belongs to. */
  readonly explainedBy: 'key' | 'request';
  /** @throws GatewayError the refusal that a request would get */
  judge(key: StoredApiKey, call: KeyedCall): void;
}

/** Token of the key guards in the order of requests. */
export const KEY_GUARDS = Symbol('KEY_GUARDS');

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of the request, on routes that require one. */
    apiKey: StoredApiKey | null;
  }
}

/** Closed by default: every route without `@Public()` or `@Session()` requires a valid API key (401). */
@Injectable()
export class ApiKeyGuard implements KeyGuard {
  readonly explainedBy = 'key';

  constructor(private readonly keys: ApiKeyVerifier) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = requestOf(context);
    if (!requiresApiKey(request.rules)) return true;
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

/** Refuses keys of an organization that is not active, and addresses outside `allowed_ips` (403). */
@Injectable()
export class AllowedIpGuard implements KeyGuard {
  readonly explainedBy = 'key';

  canActivate(context: ExecutionContext): boolean {
    const { apiKey, context: call } = requestOf(context);
    if (apiKey !== null) this.judge(apiKey, call);
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
 * Refuses keys whose `allowed_modalities` lack the `@Modality()` of the route (403). The modality of the model in the body is
 * checked once the body is read.
 */
@Injectable()
export class ModalityGuard implements KeyGuard {
  readonly explainedBy = 'request';

  canActivate(context: ExecutionContext): boolean {
    const { apiKey, rules } = requestOf(context);
    if (apiKey !== null) this.judge(apiKey, rules);
    return true;
  }

  judge({ principal }: StoredApiKey, { modality }: Pick<KeyedCall, 'modality'>): void {
    if (modality !== undefined) assertModalityAllowed(principal, modality);
  }
}
