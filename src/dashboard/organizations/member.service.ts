import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { recordAudit } from '../../core/database/audit-log';
import type { Actor } from '../../core/types/actor';
import { decodeCursor } from '../../core/types/cursor';
import { GatewayError } from '../../core/errors/gateway-error';
import { ROLES, type Role } from '../../core/types/role';
import { toPage, type Page, type PageRequest } from '../../core/types/page';
import { OrganizationMemberEntity } from '../../core/database/entities/organization-member.entity';
import { deleteInvitationsBy, deleteInvitationsTo } from './invitation.repository';
import { findMember, findMembers, hasOtherOwner, type OrganizationMember } from './membership.repository';
import { lockOrganization, requireRole } from '../../auth/organization-access';

/**
 * Members of organizations and their roles. Changes of one organization are serialized, so that it always has an owner,
 * and a revoked role grants nothing to later changes.
 */
@Injectable()
export class MemberService {
  constructor(private readonly dataSource: DataSource) {}

  /** Last joined first. @throws GatewayError `validation_failed` for an invalid cursor. */
  async page(organizationId: string, { limit, cursor }: PageRequest): Promise<Page<OrganizationMember>> {
    const after = cursor === null ? null : decodeCursor(cursor, ['time', 'uuid']);
    const rows = await findMembers(this.dataSource.manager, organizationId, after, limit + 1);
    return toPage(rows, limit, ({ createdAtText, userId }) => [createdAtText, userId]);
  }

  /** @throws GatewayError `not_found`, `forbidden`, `conflict` when the organization would have no owner. */
  setRole(organizationId: string, userId: string, role: Role, actor: Actor): Promise<OrganizationMember> {
    return this.dataSource.transaction(async (manager) => {
      const member = await lockMember(manager, organizationId, userId);
      await requireAuthority(manager, organizationId, [member.role, role], actor);
      if (role !== 'owner') await requireOtherOwner(manager, organizationId, member);
      await manager.update(OrganizationMemberEntity, { organizationId, userId }, { role });
      await withdrawInvitations(manager, organizationId, userId, role, actor);
      await record(manager, { organizationId, userId }, 'member.updated', actor, {
        before: { role: member.role },
        after: { role },
      });
      return { ...member, role };
    });
  }

  /** @throws GatewayError `not_found`, `forbidden`, `conflict` for the last owner. */
  remove(organizationId: string, userId: string, actor: Actor): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const member = await lockMember(manager, organizationId, userId);
      await requireAuthority(manager, organizationId, [member.role], actor);
      await this.end(manager, organizationId, member, 'member.removed', actor);
    });
  }

  /** Any member may leave. @throws GatewayError `not_found`, `conflict` for the last owner. */
  leave(organizationId: string, userId: string, actor: Actor): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const member = await lockMember(manager, organizationId, userId);
      await this.end(manager, organizationId, member, 'member.left', actor);
    });
  }

  private async end(
    manager: EntityManager,
    organizationId: string,
    member: OrganizationMember,
    action: string,
    actor: Actor,
  ): Promise<void> {
    const { userId, email, role } = member;
    await requireOtherOwner(manager, organizationId, member);
    await manager.delete(OrganizationMemberEntity, { organizationId, userId });
    await withdrawInvitations(manager, organizationId, userId, null, actor);
    await record(manager, { organizationId, userId }, action, actor, { before: { email, role } });
  }
}

/**
 * Requires that the actor may grant and revoke these roles: owners all roles, admins all except owner. Operators and
 * the command line may grant all.
 * @param manager transaction that has locked the organization.
 * @throws GatewayError `forbidden`.
 */
export async function requireAuthority(
  manager: EntityManager,
  organizationId: string,
  roles: readonly Role[],
  actor: Actor,
): Promise<void> {
  const own = await requireRole(manager, organizationId, 'admin', actor);
  if (own !== null && !mayGrant(own, roles)) {
    throw new GatewayError('forbidden', 'Only owners can appoint, change or remove owners.');
  }
}

/**
 * Withdraws the invitations by the member that the new role could not create, and those to a former member, so that a
 * removed member cannot rejoin through one.
 * @param role `null`: no longer a member.
 */
async function withdrawInvitations(
  manager: EntityManager,
  organizationId: string,
  userId: string,
  role: Role | null,
  actor: Actor,
): Promise<void> {
  const lost = ROLES.filter((invited) => role === null || !mayGrant(role, [invited]));
  const withdrawn = await deleteInvitationsBy(manager, organizationId, userId, lost);
  if (role === null) withdrawn.push(...(await deleteInvitationsTo(manager, organizationId, userId)));
  for (const { id, ...before } of withdrawn) {
    const target = { type: 'invitation', id };
    await recordAudit(manager, { organizationId, actor, action: 'invitation.deleted', target, before });
  }
}

function mayGrant(own: Role, roles: readonly Role[]): boolean {
  return own === 'owner' || (own === 'admin' && !roles.includes('owner'));
}

async function lockMember(manager: EntityManager, organizationId: string, userId: string): Promise<OrganizationMember> {
  await lockOrganization(manager, organizationId);
  const member = await findMember(manager, organizationId, userId);
  if (member === null) throw new GatewayError('not_found', 'There is no such member.');
  return member;
}

async function requireOtherOwner(
  manager: EntityManager,
  organizationId: string,
  { userId, role }: OrganizationMember,
): Promise<void> {
  if (role === 'owner' && !(await hasOtherOwner(manager, organizationId, userId))) {
    throw new GatewayError(
      'conflict',
      'The last owner cannot leave, be removed or lose the role. Make another member an owner first.',
    );
  }
}

function record(
  manager: EntityManager,
  { organizationId, userId }: { readonly organizationId: string; readonly userId: string },
  action: string,
  actor: Actor,
  change: { readonly before: object; readonly after?: object },
): Promise<void> {
  return recordAudit(manager, { organizationId, actor, action, target: { type: 'member', id: userId }, ...change });
}
