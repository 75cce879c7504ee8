import type { EntityManager } from 'typeorm';
import type { Role } from '../../core/types/role';
import { textOfTime, type Aged } from '../../core/types/page';
import { OrganizationInvitationEntity } from '../../core/database/entities/organization-invitation.entity';

/** An invitation in a list. */
export interface StoredInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** Whether it can be accepted; otherwise it has expired, or the inviting account is disabled. */
  readonly isOpen: boolean;
}

/** An open invitation, as its token shows it. */
export interface OfferedInvitation {
  readonly organizationName: string;
  readonly email: string;
  readonly role: Role;
  /** `null`: the inviter is not a member. */
  readonly inviterName: string | null;
  readonly inviterEmail: string | null;
  readonly expiresAt: Date;
}

/** Invitations of a disabled user are invalid while the account is disabled. */
const OF_DISABLED_USER = `
  EXISTS (SELECT 1 FROM user_account u WHERE u.id = i.invited_by AND u.status = 'disabled')`;

/** Over `organization_invitation_email_index`: an organization has at most a hundred. */
const FIND_INVITATIONS = `
  SELECT i.id, i.email, i.role, i.invited_by AS "invitedBy", i.created_at AS "createdAt", i.expires_at AS "expiresAt",
         i.expires_at > $5 AND NOT ${OF_DISABLED_USER} AS "isOpen", ${textOfTime('i.created_at')} AS "createdAtText"
    FROM organization_invitation i
   WHERE i.organization_id = $1 AND ($2::timestamptz IS NULL OR (i.created_at, i.id) < ($2::timestamptz, $3::uuid))
   ORDER BY i.created_at DESC, i.id DESC LIMIT $4`;

/** The row is the lock: of concurrent calls, one gets the invitation. */
const TAKE_INVITATION = `
  DELETE FROM organization_invitation i
   WHERE i.digest = $1 AND i.email_key = $2 AND i.expires_at > $3 AND NOT ${OF_DISABLED_USER}
  RETURNING id, organization_id AS "organizationId", role`;
const FIND_OFFER = `
  SELECT o.name AS "organizationName", i.email, i.role, i.expires_at AS "expiresAt",
         inviter.name AS "inviterName", inviter.email AS "inviterEmail"
    FROM organization_invitation i
    JOIN organization o ON o.id = i.organization_id
    LEFT JOIN user_account inviter ON inviter.id = i.invited_by
   WHERE i.digest = $1 AND i.expires_at > $2 AND NOT ${OF_DISABLED_USER}`;
const DELETE_INVITATION = `
  DELETE FROM organization_invitation WHERE organization_id = $1 AND id = $2
  RETURNING id, organization_id AS "organizationId", role, email`;
const DELETE_INVITATIONS_BY = `
  DELETE FROM organization_invitation WHERE organization_id = $1 AND invited_by = $2 AND role = ANY ($3::text[])
  RETURNING id, role, email`;
const DELETE_INVITATIONS_TO = `
  DELETE FROM organization_invitation i USING user_account u
   WHERE i.organization_id = $1 AND u.id = $2 AND i.email_key = u.email_key
  RETURNING i.id, i.role, i.email`;

const IS_MEMBER = `
  SELECT 1 FROM organization_member m JOIN user_account u ON u.id = m.user_id
   WHERE m.organization_id = $1 AND u.email_key = $2`;

/** Newest first. @param after sort key of the previous page's last item; `null`: first page. */
export function findInvitations(
  manager: EntityManager,
  organizationId: string,
  after: readonly string[] | null,
  limit: number,
  now: Date,
): Promise<(StoredInvitation & Aged)[]> {
  return manager.query(FIND_INVITATIONS, [organizationId, after?.[0] ?? null, after?.[1] ?? null, limit, now]);
}

/** Whether the address belongs to a member. */
export async function isMember(manager: EntityManager, organizationId: string, emailKey: string): Promise<boolean> {
  return (await manager.query<object[]>(IS_MEMBER, [organizationId, emailKey])).length > 0;
}

/** Inserts the invitation, or replaces the existing one of the address. */
export async function putInvitation(manager: EntityManager, invitation: OrganizationInvitationEntity): Promise<void> {
  await manager.upsert(OrganizationInvitationEntity, invitation, ['organizationId', 'emailKey']);
}

/** Consumes an invitation. `null`: unknown, for another address, or expired. */
export async function takeInvitation(
  manager: EntityManager,
  digest: Buffer,
  emailKey: string,
  now: Date,
): Promise<Pick<OrganizationInvitationEntity, 'id' | 'organizationId' | 'role'> | null> {
  // For DELETE … RETURNING, TypeORM returns the rows and their number.
  const [[row]] = await manager.query<[OrganizationInvitationEntity[], number]>(TAKE_INVITATION, [
    digest,
    emailKey,
    now,
  ]);
  return row ?? null;
}

/** The open invitation of a token. `null`: unknown, expired, or its sender is disabled. */
export async function findOffer(manager: EntityManager, digest: Buffer, now: Date): Promise<OfferedInvitation | null> {
  const [row] = await manager.query<OfferedInvitation[]>(FIND_OFFER, [digest, now]);
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

/** Deletes the invitations by a member to one of these roles. */
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

/** Deletes the invitation of the user's address. */
export async function deleteInvitationsTo(
  manager: EntityManager,
  organizationId: string,
  userId: string,
): Promise<Pick<OrganizationInvitationEntity, 'id' | 'role' | 'email'>[]> {
  const [rows] = await manager.query<[OrganizationInvitationEntity[], number]>(DELETE_INVITATIONS_TO, [
    organizationId,
    userId,
  ]);
  return rows;
}
