import { hash } from 'node:crypto';
import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import type { KeyInvalidation } from './key-invalidation';
import type { StoredApiKey } from './stored-api-key';

/** Reads one key from where keys are stored; `null` when there is no such key. */
export type ApiKeyReader = (key: string) => Promise<StoredApiKey | null>;

interface CacheEntry {
  readonly key: StoredApiKey;
  /** Monotonic. Taken before the read, so that the lifetime bounds how old an answer can be. */
  readonly readAtMs: number;
}

/** How long a revocation may go unnoticed when its message was lost. */
const LIFETIME_MS = 5_000;
/** A key in steady use is read again in the background from this age on, so that its requests never wait. */
const REFRESH_AFTER_MS = 4_000;
const UNKNOWN_LIFETIME_MS = 1_000;
/** A request must learn within 2.5 s that the database is away. */
const READ_TIMEOUT_MS = 2_000;
const MAX_KEYS = 10_000;
const MAX_UNKNOWN = 10_000;
/** Beyond this many reads at once, made-up keys would starve everybody else of database connections. */
const MAX_READS = 256;
/** Kept free for keys that have been seen before: a flood of made-up ones must not lock a customer out. */
const READS_FOR_KNOWN_KEYS = 256;

/**
 * What this process remembers of keys, for at most five seconds. Entries are found by the full SHA-256 of the key: no
 * two keys share one, and no key stays in memory. Keys that do not exist are remembered apart from those that do:
 * guessing cannot push out a customer.
 */
export class ApiKeyCache {
  private readonly known = new Map<string, CacheEntry>();
  private readonly unknown = new Map<string, number>();
  private readonly reads = new Map<string, Promise<StoredApiKey | null>>();
  private generation = 0;

  constructor(
    private readonly read: ApiKeyReader,
    private readonly clock: Clock,
  ) {}

  /**
   * The key's record, or `null` when there is no such key; a promise only when the database must be asked.
   * @throws GatewayError `service_unavailable` (thrown or rejected) when it cannot be asked, or not in time.
   */
  find(key: string): StoredApiKey | null | Promise<StoredApiKey | null> {
    const id = hash('sha256', key, 'base64url');
    const nowMs = this.clock.monotonic();
    const entry = this.known.get(id);
    if (entry !== undefined) {
      const ageMs = nowMs - entry.readAtMs;
      if (ageMs < REFRESH_AFTER_MS) return entry.key;
      if (ageMs < LIFETIME_MS) {
        this.refresh(id, key);
        return entry.key;
      }
    }
    const unknownAtMs = this.unknown.get(id);
    if (unknownAtMs !== undefined && nowMs - unknownAtMs < UNKNOWN_LIFETIME_MS) return null;
    return this.load(id, key);
  }

  /** Forgets what has changed. Reads under way may have seen the old state: their results are not kept. */
  invalidate(invalidation: KeyInvalidation): void {
    this.generation++;
    this.reads.clear();
    this.unknown.clear();
    for (const [id, { key }] of this.known) {
      if (isAffected(key, invalidation)) this.known.delete(id);
    }
  }

  private refresh(id: string, key: string): void {
    // A failure is no news: the entry serves until its lifetime ends, and the next request tries again.
    this.load(id, key).catch(() => undefined);
  }

  /** Requests for the same key share one read. */
  private load(id: string, key: string): Promise<StoredApiKey | null> {
    const underWay = this.reads.get(id);
    if (underWay !== undefined) return underWay;
    const maxReads = this.known.has(id) ? MAX_READS + READS_FOR_KNOWN_KEYS : MAX_READS;
    if (this.reads.size >= maxReads) throw unavailable(new Error('too many API keys are being read'));

    const generation = this.generation;
    const readAtMs = this.clock.monotonic();
    const load = rejectAfter(READ_TIMEOUT_MS, this.read(key))
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
    } else {
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

/** A map keeps insertion order, so its first entry was read first and is the next to end anyway. */
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

function rejectAfter<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
