import type { Readable } from 'node:stream';

/** Injection token of the configured {@link ObjectStorage}; `null` when none is configured. */
export const OBJECT_STORAGE = Symbol('ObjectStorage');

export interface SignedUrl {
  readonly url: string;
  readonly expiresAt: Date;
}

/** How long a URL signed now is valid; at least one second, the least that a bucket signs. */
export function validForSeconds(ttlSeconds: number, nowSeconds: number, keptUntil?: Date): number {
  if (keptUntil === undefined) return ttlSeconds;
  return Math.max(1, Math.min(ttlSeconds, Math.floor(keptUntil.getTime() / 1_000) - nowSeconds));
}

/**
 * Stores objects under keys of `object-key.ts`, which determine content type and download name. Modules with outputs
 * use `StoredObjects`; this interface has no rows or retention.
 */
export interface ObjectStorage {
  /**
   * Overwrites the object. Resolves when the object is durable; until then it is invisible.
   * @throws GatewayError `service_unavailable`, or the error of the body.
   */
  put(key: string, body: Buffer | Readable): Promise<{ readonly sizeBytes: number }>;

  /**
   * The whole object, for objects that fit into memory; `null` when it does not exist.
   * @throws GatewayError `service_unavailable`.
   */
  read(key: string): Promise<Buffer | null>;

  /**
   * The content of an object of any size; `null` when it does not exist. The receiver must read or destroy the stream.
   * Errors of the stream are those of the transfer.
   * @throws GatewayError `service_unavailable`.
   */
  open(key: string, signal: AbortSignal): Promise<Readable | null>;

  /**
   * A URL that allows GET without a key until it expires: after `SIGNED_URL_TTL_SECONDS`, and not after `keptUntil`.
   * Does not check that the object exists.
   * @throws GatewayError `service_unavailable`.
   */
  sign(key: string, keptUntil?: Date): Promise<SignedUrl>;

  /** The key of a URL made by `sign`, expired or not; `null` for any other. */
  keyOf(url: string): string | null;

  /**
   * Deleting a missing object succeeds.
   * @throws GatewayError `service_unavailable`.
   */
  delete(key: string): Promise<void>;

  /** Closes idle connections. */
  close(): void;
}
