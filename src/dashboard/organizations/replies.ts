import { type RateLimits, toRateLimitFields } from '../../core/types/rate-limits';
import type { Role } from '../../core/types/role';
import type { AuditEntry, Invitation, InvitationPreview, Member, Organization } from '../../contract/dashboard';
import type { OrganizationStatus } from '../../core/database/entities/organization.entity';
import type { AuditLogEntry } from './audit-log.reader';
import type { OfferedInvitation, StoredInvitation } from './invitation.repository';
import type { OrganizationMember } from './membership.repository';

interface ShownOrganization extends RateLimits {
  readonly id: string;
  readonly name: string;
  readonly status: OrganizationStatus;
  readonly maxApiKeys: number;
  readonly createdAt: Date;
}

/** @param role of the caller. */
export function toOrganization(organization: ShownOrganization, role: Role): Organization {
  const { id, name, status, maxApiKeys, createdAt } = organization;
  return {
    object: 'organization',
    id,
    name,
    status,
    role,
    ...toRateLimitFields(organization),
    max_api_keys: maxApiKeys,
    created_at: createdAt.toISOString(),
  };
}

export function toMember({ userId, email, name, role, createdAt }: OrganizationMember): Member {
  return { object: 'member', user_id: userId, email, name, role, joined_at: createdAt.toISOString() };
}

export function toInvitation({ id, email, role, isOpen, invitedBy, ...times }: StoredInvitation): Invitation {
  return {
    object: 'invitation',
    id,
    email,
    role,
    status: isOpen ? 'open' : 'expired',
    invited_by: invitedBy,
    created_at: times.createdAt.toISOString(),
    expires_at: times.expiresAt.toISOString(),
  };
}

export function toInvitationPreview(offer: OfferedInvitation): InvitationPreview {
  const { organizationName, email, role, inviterName, inviterEmail, expiresAt } = offer;
  const isInviterKnown = inviterName !== null && inviterEmail !== null;
  return {
    object: 'invitation_preview',
    organization_name: organizationName,
    email,
    role,
    invited_by: isInviterKnown ? { name: inviterName, email: inviterEmail } : null,
    expires_at: expiresAt.toISOString(),
  };
}

export function toAuditEntry(entry: AuditLogEntry): AuditEntry {
  return {
    object: 'audit_entry',
    id: entry.id,
    action: entry.action,
    actor: { kind: entry.actorKind, user_id: entry.actorUserId, email: entry.actorEmail },
    address: entry.address,
    request_id: entry.requestId,
    target: { type: entry.targetType, id: entry.targetId },
    before: entry.before,
    after: entry.after,
    created_at: entry.createdAt.toISOString(),
  };
}
