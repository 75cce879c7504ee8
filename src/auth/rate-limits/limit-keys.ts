import { createHash } from 'node:crypto';

export type LimitScope = 'key' | 'organization' | 'model' | 'global';

/** The owner of a limit: a key, an organization, a model or all callers. */
export interface LimitOwner {
  readonly scope: LimitScope;
  readonly id: string;
  /** Set for a key or an organization. */
  readonly organizationId: string | null;
}

/** The first part of the Redis keys of an owner. */
export type LimitKeys = (owner: LimitOwner) => string;

/** Hash tags that organizations share: enough to spread over nodes, few enough to batch calls. */
const ORGANIZATION_TAGS = 64;

/** For one server: every call may use every key. */
export function plainKeys(prefix: string): LimitKeys {
  return ({ scope, id }) => `${prefix}${scope}:${id}:`;
}

/** For a cluster: keys that are checked together share a hash tag, and so a node. */
export function clusterKeys(prefix: string): LimitKeys {
  return ({ scope, id, organizationId }) => `${prefix}{${tagOf(scope, id, organizationId)}}:${scope}:${id}:`;
}

function tagOf(scope: LimitScope, id: string, organizationId: string | null): string {
  if (organizationId !== null) return `l${organizationTag(organizationId)}`;
  return scope === 'model' ? `m:${id}` : 'g';
}

function organizationTag(organizationId: string): string {
  const [first = 0] = createHash('sha1').update(organizationId).digest();
  return String(first % ORGANIZATION_TAGS).padStart(2, '0');
}

/** The hash tag of keys without one, and of requests without limits. */
export const UNTAGGED = 'g';

/** The hash tag of a key of a cluster. */
export function hashTagOf(redisKey: string): string {
  return /\{([^}]+)\}/.exec(redisKey)?.[1] ?? UNTAGGED;
}
