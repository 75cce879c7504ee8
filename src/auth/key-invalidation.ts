/**
 * How a change to a key or an organization reaches every process within a second: the service that made it publishes
 * what has changed, each process drops what it remembers of it. A lost message costs at most a cache entry's lifetime.
 */
export const KEY_INVALIDATION_CHANNEL = 'gateway:key-invalidation';

/** What has changed: one key, every key of one organization, or anything. */
export type KeyInvalidation =
  | { readonly scope: 'key'; readonly keyId: string }
  | { readonly scope: 'organization'; readonly organizationId: string }
  | { readonly scope: 'all' };

/** The one Redis command that publishing takes; `ioredis` has it. */
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

/** A message that is not understood, for example of a newer version, invalidates everything: that is always safe. */
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
 * Tells every process what has changed. Call it after the change is committed. Never rejects: without Redis the
 * change is enforced when cache entries run out, within five seconds.
 */
export async function publishKeyInvalidation(
  transport: KeyInvalidationTransport,
  invalidation: KeyInvalidation,
): Promise<void> {
  await transport.publish(KEY_INVALIDATION_CHANNEL, encodeKeyInvalidation(invalidation)).catch(() => undefined);
}
