import type { Principal } from '../../core/types/principal';
import type { AllowedIps } from '../../core/types/allowed-ips';

/** The stored fields of a key that requests need. Immutable and shared between requests. */
export interface StoredApiKey {
  /** The principal of the requests that use this key. */
  readonly principal: Principal;
  readonly enabled: boolean;
  /** Milliseconds since the epoch; may lie in the future (rotation with a grace period). */
  readonly revokedAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly organizationActive: boolean;
  /** `null` allows every address. */
  readonly allowedIps: AllowedIps | null;
}
