import type { Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
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

/**
 * Authenticates a caller by the `Authorization` header alone. Verdicts are not cached: every request
 * is judged by the cached record of its key.
 */
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
   * The key of a request: synchronous when it is cached, else a promise.
   * @param authorization the header's value; `undefined` when there is none.
   * @throws GatewayError (thrown or rejected) `invalid_api_key`, `key_revoked`, `key_disabled`, `key_expired`,
   *   `service_unavailable`.
   */
  authenticate(authorization: string | undefined): StoredApiKey | Promise<StoredApiKey> {
    const found = this.cache.find(this.readBearerKey(authorization));
    return found instanceof Promise ? found.then((key) => this.requireUsable(key)) : this.requireUsable(found);
  }

  /** @throws GatewayError `key_revoked`, `key_disabled`, `key_expired` */
  assertUsable({ revokedAtMs, enabled, expiresAtMs }: StoredApiKey): void {
    const nowMs = this.clock.now();
    if (revokedAtMs !== null && revokedAtMs <= nowMs) {
      throw new GatewayError('key_revoked', 'The API key was revoked or replaced by another one.');
    }
    if (!enabled) throw new GatewayError('key_disabled', 'The API key is disabled.');
    if (expiresAtMs !== null && expiresAtMs <= nowMs) {
      throw new GatewayError('key_expired', 'The API key has expired.');
    }
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

  private requireUsable(key: StoredApiKey | null): StoredApiKey {
    if (key === null) throw invalidApiKey('The API key is unknown.');
    this.assertUsable(key);
    return key;
  }
}

function invalidApiKey(message: string): GatewayError {
  return new GatewayError('invalid_api_key', message);
}
