import type { Principal } from '../common/principal';
import type { AllowedIps } from './allowed-ips';

/** What the database knows of a key, as far as a request is concerned. Immutable, shared by the requests it serves. */
export interface StoredApiKey {
  /** What requests of this key are given once they are let in. */
  readonly principal: Principal;
  readonly enabled: boolean;
  /** Milliseconds since the epoch; may lie in the future (rotation with a grace period). */
  readonly revokedAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly organizationActive: boolean;
  /** `null` allows every address. */
  readonly allowedIps: AllowedIps | null;
}
