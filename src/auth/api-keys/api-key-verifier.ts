/**
 * Authenticates the caller: maps an `Authorization` header to a principal, or to the 401 or 403 of contract section 5.
 * The request pipeline calls it before it reads a body (decision *auth-first*). It uses only the header and the
 * caller's address. Verdicts are not cached: every request is checked against the cached key record.
 */
import type { Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import type { Principal } from '../../core/types/principal';
import { hasValidShape } from './api-key';
import { ApiKeyCache, type ApiKeyReader } from './api-key-cache';
import type { KeyInvalidation } from './key-invalidation';
import type { StoredApiKey } from './stored-api-key';

export interface ApiKeyVerifierOptions {
  /** Also look up keys that this service did not generate, for deployments that insert their own. Default `false`. */
  readonly acceptUnchecksummedKeys?: boolean;
}

const BEARER = /^Bearer +(\S+)$/i;
const MAX_KEY_LENGTH = 256;

export class ApiKeyVerifier {
  private readonly cache: ApiKeyCache;
  private readonly acceptUnchecksummedKeys: boolean;

  constructor(
    read: ApiKeyReader,
    private readonly clock: Clock,
    options: ApiKeyVerifierOptions = {},
  ) {
    this.cache = new ApiKeyCache(read, clock);
    this.acceptUnchecksummedKeys = options.acceptUnchecksummedKeys ?? false;
  }

  /**
   * The caller's identity: synchronous when the key is cached, else a promise.
   * @param authorization the header's value; `undefined` when there is none.
   * @param clientAddress IPv4 or IPv6, proxies already taken into account.
   * @throws GatewayError (thrown or rejected) `invalid_api_key`, `key_revoked`, `key_disabled`, `key_expired`,
   *   `ip_not_allowed`, `service_unavailable`.
   */
  verify(authorization: string | undefined, clientAddress: string): Principal | Promise<Principal> {
    const key = this.readBearerKey(authorization);
    const found = this.cache.find(key);
    return found instanceof Promise
      ? found.then((loaded) => this.judge(loaded, clientAddress))
      : this.judge(found, clientAddress);
  }

  /** Evicts the cached data of a key or an organization. */
  invalidate(invalidation: KeyInvalidation): void {
    this.cache.invalidate(invalidation);
  }

  private readBearerKey(authorization: string | undefined): string {
    if (authorization === undefined || authorization === '') {
      throw invalidApiKey('No API key was given. Send it in the header "Authorization: Bearer <API key>".');
    }
    const key = BEARER.exec(authorization)?.[1];
    if (key === undefined) {
      throw invalidApiKey('The Authorization header must read "Bearer <API key>".');
    }
    const plausible = this.acceptUnchecksummedKeys ? key.length <= MAX_KEY_LENGTH : hasValidShape(key);
    if (!plausible) {
      throw invalidApiKey('The API key is malformed. Check that it was copied completely; it begins with "sk-llm-".');
    }
    return key;
  }

  private judge(key: StoredApiKey | null, clientAddress: string): Principal {
    if (key === null) throw invalidApiKey('The API key is unknown.');
    assertKeyUsable(key, this.clock.now());
    assertAddressAllowed(key, clientAddress);
    return key.principal;
  }
}

/**
 * Checks that do not depend on the caller's address.
 * @throws GatewayError `key_revoked`, `key_disabled`, `key_expired`; `ip_not_allowed` when its organization is not active
 */
export function assertKeyUsable(key: StoredApiKey, nowMs: number): void {
  if (key.revokedAtMs !== null && key.revokedAtMs <= nowMs) {
    throw new GatewayError('key_revoked', 'The API key was revoked or replaced by another one.');
  }
  if (!key.enabled) throw new GatewayError('key_disabled', 'The API key is disabled.');
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs) {
    throw new GatewayError('key_expired', 'The API key has expired.');
  }
  // Decision *org-inactive*: the contract has one code for both, so only the message differs.
  if (!key.organizationActive) {
    throw new GatewayError('ip_not_allowed', 'The organization that owns this API key is not active.');
  }
}

/** @throws GatewayError `ip_not_allowed` */
export function assertAddressAllowed({ allowedIps }: StoredApiKey, clientAddress: string): void {
  if (allowedIps === null || allowedIps.includes(clientAddress)) return;
  throw new GatewayError('ip_not_allowed', `This API key may not be used from the address ${clientAddress}.`);
}

function invalidApiKey(message: string): GatewayError {
  return new GatewayError('invalid_api_key', message);
}
