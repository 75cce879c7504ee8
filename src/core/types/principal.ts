import { GatewayError } from '../errors/gateway-error';
import type { Modality } from './modality';
import type { RateLimits } from './rate-limits';

/** The authenticated caller: the key and its organization. Immutable and shared between requests. */
export interface Principal {
  readonly organizationId: string;
  readonly keyId: string;
  /** `null` allows every model. */
  readonly allowedModels: ReadonlySet<string> | null;
  /** With groups such as `audio` expanded; `null` allows every modality. */
  readonly allowedModalities: ReadonlySet<Modality> | null;
  /** Limits of the key. */
  readonly limits: RateLimits;
  /** For all keys of the organization together. */
  readonly organizationLimits: RateLimits;
}

/** @throws GatewayError `modality_not_allowed` */
export function assertModalityAllowed({ allowedModalities }: Principal, modality: Modality, param = 'model'): void {
  if (allowedModalities === null || allowedModalities.has(modality)) return;
  throw new GatewayError('modality_not_allowed', `This API key may not use ${modality} models.`, { param });
}
