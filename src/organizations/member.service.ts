import type { DataSource, EntityManager } from 'typeorm';
import { recordAudit } from '../audit/audit-log';
import type { Actor } from '../common/actor';
import { decodeCursor } from '../common/cursor';
import { GatewayError } from '../common/errors/gateway-error';
import { mayActAs, ROLES, type Role } from '../common/role';
import { toPage, type Page, type PageRequest } from '../common/page';
import { OrganizationMemberEntity } from '../database/entities/organization-member.entity';
import { deleteInvitationsBy } from './invitation.repository';
import { findMember, findMembers, hasOtherOwner, type OrganizationMember } from './membership.repository';
import { lockOrganization } from './organization-row';

/**
 * Who belongs to an organization, and as what. Changes of one organization take turns, so that it has an owner at every
 * moment, and a role that was taken away gives no right to what comes after.
 */
export class MemberService {
  constructor(private readonly dataSource: DataSource) {}

  /** The last to join first. @throws GatewayError `validation_failed` for a cursor that is none. */
  async page(organizationId: string, { limit, cursor }: PageRequest): Promise<Page<OrganizationMember>> {
    const after = cursor === null ? null : decodeCursor(cursor, ['time', 'uuid']);
    const rows = await findMembers(this.dataSource.manager, organizationId, after, limit + 1);
    return toPage(rows, limit, ({ createdAtText, userId }) => [createdAtText, userId]);
  }

  /** @throws GatewayError `not_found`, `forbidden`, `conflict` when the last owner would be none any more. */
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

  /** Everybody may, but for the last owner. @throws GatewayError `not_found`, `conflict`. */
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
 * Requires that whoever acts may give and take away these roles: owners all of them, admins all but that of an owner. The
 * platform's staff and its commands may too.
 * @param manager of a transaction that has locked the organization.
 * @throws GatewayError `forbidden`.
 */
export async function requireAuthority(
  manager: EntityManager,
  organizationId: string,
  roles: readonly Role[],
  actor: Actor,
): Promise<void> {
  const own = await requireRole(manager, organizationId, 'admin', actor);
  if (own !== null && !mayGive(own, roles)) {
    throw new GatewayError('forbidden', 'Only an owner can make, change or remove owners.');
  }
}

/**
 * Requires that a member who makes a change still has a role that suffices: it was let in with one, and may have waited
 * for its turn since.
 * @returns the role; `null`: the platform's staff, or its commands, which need none.
 * @throws GatewayError `forbidden`.
 */
export async function requireRole(
  manager: EntityManager,
  organizationId: string,
  role: Role,
  actor: Actor,
): Promise<Role | null> {
  if (actor.kind !== 'user' || actor.userId === null) return null;
  const own = await manager.findOneBy(OrganizationMemberEntity, { organizationId, userId: actor.userId });
  if (own === null || !mayActAs(own.role, role)) throw new GatewayError('forbidden', `This takes the role ${role}.`);
  return own.role;
}

/**
 * Withdraws what a member could not invite to with the new role: whoever is shut out must not have left a way back.
 * @param role `null`: no member any more.
 */
async function withdrawInvitations(
  manager: EntityManager,
  organizationId: string,
  userId: string,
  role: Role | null,
  actor: Actor,
): Promise<void> {
  const lost = ROLES.filter((invited) => role === null || !mayGive(role, [invited]));
  for (const { id, ...before } of await deleteInvitationsBy(manager, organizationId, userId, lost)) {
    const target = { type: 'invitation', id };
    await recordAudit(manager, { organizationId, actor, action: 'invitation.deleted', target, before });
  }
}

function mayGive(own: Role, roles: readonly Role[]): boolean {
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
    throw new GatewayError('conflict', 'The last owner of an organization must remain one.');
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
