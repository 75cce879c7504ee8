/**
 * Propagates a change to a key or an organization to every process within a second: the changing service publishes an
 * invalidation, and each process evicts the affected entries. A lost message delays the change by at most the lifetime
 * of a cache entry.
 */
export const KEY_INVALIDATION_CHANNEL = 'gateway:key-invalidation';

/** The scope of a change: one key, every key of one organization, or all keys. */
export type KeyInvalidation =
  | { readonly scope: 'key'; readonly keyId: string }
  | { readonly scope: 'organization'; readonly organizationId: string }
  | { readonly scope: 'all' };

/** The Redis command needed to publish; `ioredis` implements it. */
export interface KeyInvalidationTransport {
  publish(channel: string, message: string): Promise<unknown>;
}

/** `key:<id>`, `organization:<id>` or `all`. */
export function encodeKeyInvalidation(invalidation: KeyInvalidation): string {
  switch (invalidation.scope) {
    case 'key':
      return `key:${invalidation.keyId}`;
    case 'organization':
      return `organization:${invalidation.organizationId}`;
    case 'all':
      return 'all';
  }
}

/** An unknown message, for example from a newer version, invalidates all entries, which is always safe. */
export function decodeKeyInvalidation(message: string): KeyInvalidation {
  const colonAt = message.indexOf(':');
  const id = message.slice(colonAt + 1);
  switch (message.slice(0, Math.max(colonAt, 0))) {
    case 'key':
      return { scope: 'key', keyId: id };
    case 'organization':
      return { scope: 'organization', organizationId: id };
    default:
      return { scope: 'all' };
  }
}

/**
 * Publishes a change to every process. Call it after the commit. Never rejects: without Redis the change takes effect
 * when cache entries expire, within five seconds.
 */
export async function publishKeyInvalidation(
  transport: KeyInvalidationTransport,
  invalidation: KeyInvalidation,
): Promise<void> {
  await transport.publish(KEY_INVALIDATION_CHANNEL, encodeKeyInvalidation(invalidation)).catch(() => undefined);
}
