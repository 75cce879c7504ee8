import type { Modality } from './modality';
import type { RateLimits } from './rate-limits';

/** Who is calling: what the authenticator learned of the key and its organization. Immutable, shared by requests. */
export interface Principal {
  readonly organizationId: string;
  readonly keyId: string;
  /** `null` allows every model. */
  readonly allowedModels: ReadonlySet<string> | null;
  /** `null` allows every modality. */
  readonly allowedModalities: ReadonlySet<Modality> | null;
  /** The key's own. */
  readonly limits: RateLimits;
  /** For all keys of the organization together. */
  readonly organizationLimits: RateLimits;
}
