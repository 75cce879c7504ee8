import type { Modality } from './modality';

/** Who is calling: what the authenticator learned of the key and its organization. Immutable, shared by requests. */
export interface Principal {
  readonly organizationId: string;
  readonly keyId: string;
  /** `null` allows every model. */
  readonly allowedModels: ReadonlySet<string> | null;
  /** `null` allows every modality. */
  readonly allowedModalities: ReadonlySet<Modality> | null;
  readonly limits: KeyLimits;
}

/** `null` means that the key sets no limit of its own. */
export interface KeyLimits {
  readonly requestsPerSecond: number | null;
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrency: number | null;
}
