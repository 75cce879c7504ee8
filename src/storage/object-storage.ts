import type { Readable } from 'node:stream';

/** Injection token of the configured {@link ObjectStorage}; `null` where the operator has configured none. */
export const OBJECT_STORAGE = Symbol('ObjectStorage');

export interface SignedUrl {
  readonly url: string;
  readonly expiresAt: Date;
}

/**
 * Where outputs are kept, by keys that `object-key.ts` makes: they tell the content type and the name of a download.
 * `StoredObjects` is what other modules use; this knows nothing of rows and retention.
 */
export interface ObjectStorage {
  /**
   * Overwrites. Resolves when the object is durable; until then nobody sees any of it.
   * @throws GatewayError `service_unavailable`, or what the body failed with.
   */
  put(key: string, body: Buffer | Readable): Promise<{ readonly sizeBytes: number }>;

  /**
   * The whole object, for objects that fit into memory; `null` when there is none.
   * @throws GatewayError `service_unavailable`.
   */
  read(key: string): Promise<Buffer | null>;

  /**
   * An address that anybody may GET until it expires (`SIGNED_URL_TTL_SECONDS`). Does not look whether there is anything.
   * @throws GatewayError `service_unavailable`.
   */
  sign(key: string): Promise<SignedUrl>;

  /** The key of an address that `sign` has made, expired or not; `null` for any other. */
  keyOf(url: string): string | null;

  /**
   * What is not there is deleted already.
   * @throws GatewayError `service_unavailable`.
   */
  delete(key: string): Promise<void>;

  /** Lets go of idle connections. */
  close(): void;
}
