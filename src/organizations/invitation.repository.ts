import type { EntityManager } from 'typeorm';
import type { Role } from '../common/role';
import { textOfTime, type Aged } from '../common/page';
import { OrganizationInvitationEntity } from '../database/entities/organization-invitation.entity';

/** An invitation as a list shows it. */
export interface StoredInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Whether it can be accepted; otherwise it is too old, or from somebody whose account is disabled. */
  readonly isOpen: boolean;
}

/** What somebody has sent who cannot sign in any more opens nothing, as long as he cannot. */
const OF_DISABLED_USER = `
  EXISTS (SELECT 1 FROM user_account u WHERE u.id = i.invited_by AND u.status = 'disabled')`;

/** Over `organization_invitation_email_index`: at most a hundred belong to one organization. */
const FIND_INVITATIONS = `
  SELECT i.id, i.email, i.role, i.invited_by AS "invitedBy", i.created_at AS "createdAt", i.expires_at AS "expiresAt",
         i.expires_at > $5 AND NOT ${OF_DISABLED_USER} AS "isOpen", ${textOfTime('i.created_at')} AS "createdAtText"
    FROM organization_invitation i
   WHERE i.organization_id = $1 AND ($2::timestamptz IS NULL OR (i.created_at, i.id) < ($2::timestamptz, $3::uuid))
   ORDER BY i.created_at DESC, i.id DESC LIMIT $4`;

/** The row is the lock: of two that take the same invitation one gets it. */
const TAKE_INVITATION = `
  DELETE FROM organization_invitation i
   WHERE i.digest = $1 AND i.email_key = $2 AND i.expires_at > $3 AND NOT ${OF_DISABLED_USER}
  RETURNING id, organization_id AS "organizationId", role`;
const DELETE_INVITATION = `
  DELETE FROM organization_invitation WHERE organization_id = $1 AND id = $2
  RETURNING id, organization_id AS "organizationId", role, email`;
const DELETE_INVITATIONS_BY = `
  DELETE FROM organization_invitation WHERE organization_id = $1 AND invited_by = $2 AND role = ANY ($3::text[])
  RETURNING id, role, email`;

const IS_MEMBER = `
  SELECT 1 FROM organization_member m JOIN user_account u ON u.id = m.user_id
   WHERE m.organization_id = $1 AND u.email_key = $2`;

/** Newest first. @param after sort key of the last one before, `null` from the start. */
export function findInvitations(
  manager: EntityManager,
  organizationId: string,
  after: readonly string[] | null,
  limit: number,
  now: Date,
): Promise<(StoredInvitation & Aged)[]> {
  return manager.query(FIND_INVITATIONS, [organizationId, after?.[0] ?? null, after?.[1] ?? null, limit, now]);
}

/** Whether the address is that of a member. */
export async function isMember(manager: EntityManager, organizationId: string, emailKey: string): Promise<boolean> {
  return (await manager.query<object[]>(IS_MEMBER, [organizationId, emailKey])).length > 0;
}

/** Writes it anew, in the place of the one that the address has already. */
export async function putInvitation(manager: EntityManager, invitation: OrganizationInvitationEntity): Promise<void> {
  await manager.upsert(OrganizationInvitationEntity, invitation, ['organizationId', 'emailKey']);
}

/** Uses an invitation up. `null`: there is none, it is another address's, or too old. */
export async function takeInvitation(
  manager: EntityManager,
  digest: Buffer,
  emailKey: string,
  now: Date,
): Promise<Pick<OrganizationInvitationEntity, 'id' | 'organizationId' | 'role'> | null> {
  // TypeORM answers a DELETE with its rows and their number.
  const [[row]] = await manager.query<[OrganizationInvitationEntity[], number]>(TAKE_INVITATION, [
    digest,
    emailKey,
    now,
  ]);
  return row ?? null;
}

/** `null`: the organization has no such invitation. */
export async function deleteInvitation(
  manager: EntityManager,
  organizationId: string,
  id: string,
): Promise<Pick<OrganizationInvitationEntity, 'id' | 'organizationId' | 'role' | 'email'> | null> {
  const [[row]] = await manager.query<[OrganizationInvitationEntity[], number]>(DELETE_INVITATION, [
    organizationId,
    id,
  ]);
  return row ?? null;
}

/** Those that a member has made, as far as they are to one of these roles. */
export async function deleteInvitationsBy(
  manager: EntityManager,
  organizationId: string,
  userId: string,
  roles: readonly Role[],
): Promise<Pick<OrganizationInvitationEntity, 'id' | 'role' | 'email'>[]> {
  const [rows] = await manager.query<[OrganizationInvitationEntity[], number]>(DELETE_INVITATIONS_BY, [
    organizationId,
    userId,
    roles,
  ]);
  return rows;
}
