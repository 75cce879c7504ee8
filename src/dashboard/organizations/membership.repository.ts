import type { EntityManager } from 'typeorm';
import type { RateLimits } from '../../core/types/rate-limits';
import type { Role } from '../../core/types/role';
import { textOfTime, type Aged } from '../../core/types/page';
import type { OrganizationStatus } from '../../core/database/entities/organization.entity';

/** An organization as one of its members sees it. */
export interface Membership extends Aged, RateLimits {
  readonly name: string;
  readonly status: OrganizationStatus;
  readonly maxApiKeys: number;
  readonly createdAt: Date;
  readonly role: Role;
}

/** A member of an organization. */
export interface OrganizationMember {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: Date;
  readonly createdAtText: string;
}

/** Over `organization_member_user_index`: reads all organizations of one user. */
const FIND_MEMBERSHIPS = `
  SELECT o.id, o.name, o.status, o.created_at AS "createdAt", ${textOfTime('o.created_at')} AS "createdAtText", m.role,
         o.requests_per_second AS "requestsPerSecond", o.requests_per_minute AS "requestsPerMinute",
         o.tokens_per_minute AS "tokensPerMinute", o.concurrency,
         o.max_api_keys AS "maxApiKeys"
    FROM organization_member m JOIN organization o ON o.id = m.organization_id
   WHERE m.user_id = $1 AND ($2::timestamptz IS NULL OR (o.created_at, o.id) < ($2::timestamptz, $3::uuid))
   ORDER BY o.created_at DESC, o.id DESC LIMIT $4`;

/** Over the primary key: reads all members of one organization. */
const FIND_MEMBERS = `
  SELECT m.user_id AS "userId", u.email, u.name, m.role, m.created_at AS "createdAt",
         ${textOfTime('m.created_at')} AS "createdAtText"
    FROM organization_member m JOIN user_account u ON u.id = m.user_id
   WHERE m.organization_id = $1
     AND ($2::timestamptz IS NULL OR (m.created_at, m.user_id) < ($2::timestamptz, $3::uuid))
   ORDER BY m.created_at DESC, m.user_id DESC LIMIT $4`;

const FIND_MEMBER = `
  SELECT m.user_id AS "userId", u.email, u.name, m.role, m.created_at AS "createdAt",
         ${textOfTime('m.created_at')} AS "createdAtText"
    FROM organization_member m JOIN user_account u ON u.id = m.user_id
   WHERE m.organization_id = $1 AND m.user_id = $2`;

/** Ignores disabled accounts, which cannot administer the organization. */
const FIND_OTHER_OWNER = `
  SELECT 1 FROM organization_member m JOIN user_account u ON u.id = m.user_id
   WHERE m.organization_id = $1 AND m.user_id <> $2 AND m.role = 'owner' AND u.status = 'active' LIMIT 1`;

/**
 * The organizations of a user, newest first. @param after sort key of the previous page's last item; `null`: first
 * page.
 */
export function findMemberships(
  manager: EntityManager,
  userId: string,
  after: readonly string[] | null,
  limit: number,
): Promise<Membership[]> {
  return manager.query<Membership[]>(FIND_MEMBERSHIPS, [userId, after?.[0] ?? null, after?.[1] ?? null, limit]);
}

/** The members of an organization, last joined first. @param after as for {@link findMemberships}. */
export function findMembers(
  manager: EntityManager,
  organizationId: string,
  after: readonly string[] | null,
  limit: number,
): Promise<OrganizationMember[]> {
  return manager.query<OrganizationMember[]>(FIND_MEMBERS, [
    organizationId,
    after?.[0] ?? null,
    after?.[1] ?? null,
    limit,
  ]);
}

export async function findMember(
  manager: EntityManager,
  organizationId: string,
  userId: string,
): Promise<OrganizationMember | null> {
  const [member] = await manager.query<OrganizationMember[]>(FIND_MEMBER, [organizationId, userId]);
  return member ?? null;
}

/** Whether the organization has another owner with an active account. */
export async function hasOtherOwner(manager: EntityManager, organizationId: string, userId: string): Promise<boolean> {
  return (await manager.query<object[]>(FIND_OTHER_OWNER, [organizationId, userId])).length > 0;
}
