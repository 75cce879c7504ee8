import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { withinDatabaseTime } from '../../core/database/in-time';
import { GatewayError } from '../../core/errors/gateway-error';
import { type Clock, CLOCK } from '../../core/time/clock';
import { hasValidShape } from './api-key';
import { ApiKeyRepository, type StoredApiKey } from './api-key.repository';
import type { KeyInvalidation } from './key-invalidation';

const BEARER = /^Bearer +(\S+)$/i;
const MAX_KEY_LENGTH = 256;

type KeyStore = Pick<ApiKeyRepository, 'findByKey'>;

/**
 * Authenticates a caller by the `Authorization` header alone. Caches the records of keys, not verdicts: every request
 * is checked against the record of its key.
 */
@Injectable()
export class ApiKeyVerifier {
  private readonly cache: ApiKeyCache;

  constructor(
    @Inject(ApiKeyRepository) keys: KeyStore,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { acceptUnchecksummedKeys }: Pick<AppConfig, 'acceptUnchecksummedKeys'>,
  ) {
    this.cache = new ApiKeyCache(keys, clock, acceptUnchecksummedKeys ? isShort : hasValidShape);
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
    return key;
  }

  private requireUsable(key: StoredApiKey | null): StoredApiKey {
    if (key === null) throw invalidApiKey('The API key is unknown.');
    this.assertUsable(key);
    return key;
  }
}

function isShort(key: string): boolean {
  return key.length <= MAX_KEY_LENGTH;
}

function invalidApiKey(message: string): GatewayError {
  return new GatewayError('invalid_api_key', message);
}

interface CacheEntry {
  readonly key: StoredApiKey;
  /** Monotonic. Taken before the read, so that the lifetime bounds the age of the data. */
  readonly readAtMs: number;
}

/** How long a revoked key may still be accepted when the invalidation message was lost. */
const LIFETIME_MS = 5_000;
/** A key in steady use is read again in the background from this age on, so that its requests never wait. */
const REFRESH_AFTER_MS = 4_000;
const UNKNOWN_LIFETIME_MS = 1_000;
/** Requests get their 503 within 2.5 s while the database is unavailable. */
const READ_TIMEOUT_MS = 2_000;
const MAX_KEYS = 10_000;
const MAX_UNKNOWN = 10_000;
/** Limits concurrent reads, so that invented keys cannot exhaust the database connections. */
const MAX_READS = 256;
/** Reserved for keys seen before: a flood of invented keys must not lock a customer out. */
const READS_FOR_KNOWN_KEYS = 256;

/**
 * Caches API keys in this process for at most five seconds, except those that depend on a session. Entries are indexed
 * by the full SHA-256 of the key: no two keys share an entry, and no key stays in memory. Unknown keys have a separate
 * cache: guessing cannot evict a customer's key.
 */
class ApiKeyCache {
  private readonly known = new Map<string, CacheEntry>();
  private readonly unknown = new Map<string, number>();
  private readonly reads = new Map<string, Promise<StoredApiKey | null>>();
  private generation = 0;

  constructor(
    private readonly keys: KeyStore,
    private readonly clock: Clock,
    /** Whether the text may be a key, so that a query is worthwhile. */
    private readonly isPlausible: (key: string) => boolean,
  ) {}

  /**
   * The key's record, or `null` when the key does not exist; a promise only when the database must be queried.
   * @throws GatewayError `invalid_api_key` when the text cannot be a key; `service_unavailable` (thrown or rejected)
   *   when the database fails or times out.
   */
  find(key: string): StoredApiKey | null | Promise<StoredApiKey | null> {
    const id = hash('sha256', key, 'base64url');
    const nowMs = this.clock.monotonic();
    const entry = this.known.get(id);
    if (entry !== undefined) {
      const ageMs = nowMs - entry.readAtMs;
      if (ageMs < REFRESH_AFTER_MS) return entry.key;
      if (ageMs < LIFETIME_MS) {
        void this.refresh(id, key);
        return entry.key;
      }
    }
    const unknownAtMs = this.unknown.get(id);
    if (unknownAtMs !== undefined && nowMs - unknownAtMs < UNKNOWN_LIFETIME_MS) return null;
    return this.load(id, key);
  }

  /** Drops the changed entries. Reads in progress may have seen the old state: their results are not cached. */
  invalidate(invalidation: KeyInvalidation): void {
    this.generation++;
    this.reads.clear();
    this.unknown.clear();
    for (const [id, { key }] of this.known) {
      if (isAffected(key, invalidation)) this.known.delete(id);
    }
  }

  private async refresh(id: string, key: string): Promise<void> {
    try {
      await this.load(id, key);
    } catch {
      // A failed refresh keeps the entry until it expires; the next request tries again.
    }
  }

  /** Requests for the same key share one read. */
  private load(id: string, key: string): Promise<StoredApiKey | null> {
    const pending = this.reads.get(id);
    if (pending !== undefined) return pending;
    if (!this.isPlausible(key)) {
      throw invalidApiKey('The API key is malformed. Check that it was copied completely; it begins with "sk-llm-".');
    }
    const maxReads = this.known.has(id) ? MAX_READS + READS_FOR_KNOWN_KEYS : MAX_READS;
    if (this.reads.size >= maxReads) throw unavailable(new Error('too many API keys are being read'));

    const generation = this.generation;
    const readAtMs = this.clock.monotonic();
    const load = withinDatabaseTime(READ_TIMEOUT_MS, this.keys.findByKey(key))
      .then(
        (found) => {
          if (generation === this.generation) this.store(id, found, readAtMs);
          return found;
        },
        (cause: unknown) => Promise.reject(unavailable(cause)),
      )
      .finally(() => {
        if (this.reads.get(id) === load) this.reads.delete(id);
      });
    this.reads.set(id, load);
    return load;
  }

  private store(id: string, key: StoredApiKey | null, readAtMs: number): void {
    this.known.delete(id);
    this.unknown.delete(id);
    if (key === null) {
      this.unknown.set(id, readAtMs);
      dropOldest(this.unknown, MAX_UNKNOWN);
    } else if (!key.dependsOnSession) {
      this.known.set(id, { key, readAtMs });
      dropOldest(this.known, MAX_KEYS);
    }
  }
}

function isAffected({ principal }: StoredApiKey, invalidation: KeyInvalidation): boolean {
  switch (invalidation.scope) {
    case 'key':
      return principal.keyId === invalidation.keyId;
    case 'organization':
      return principal.organizationId === invalidation.organizationId;
    case 'all':
      return true;
  }
}

/** A map keeps insertion order, so its first entry is the oldest and the next to expire. */
function dropOldest(map: Map<string, unknown>, maxSize: number): void {
  if (map.size <= maxSize) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

function unavailable(cause: unknown): GatewayError {
  return new GatewayError('service_unavailable', 'API keys cannot be checked at the moment. Try again shortly.', {
    retryAfterSeconds: 1,
    cause,
  });
}
