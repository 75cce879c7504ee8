import type { CanActivate } from '@nestjs/common';
import type { Modality } from '../../core/types/modality';
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
