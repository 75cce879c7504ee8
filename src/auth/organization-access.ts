import type { EntityManager } from 'typeorm';
import { GatewayError } from '../core/errors/gateway-error';
import type { Actor } from '../core/types/actor';
import { mayActAs, type Role } from '../core/types/role';
import { OrganizationMemberEntity } from '../core/database/entities/organization-member.entity';
import { OrganizationEntity } from '../core/database/entities/organization.entity';

/**
 * Locks the row of an organization and returns it: serializes operations that count keys, owners or invitations.
 * Reservations, logins and reads do not take this lock.
 * @throws GatewayError `not_found`.
 */
export async function lockOrganization(manager: EntityManager, organizationId: string): Promise<OrganizationEntity> {
  const organization = await manager.findOne(OrganizationEntity, {
    where: { id: organizationId },
    lock: { mode: 'for_no_key_update' },
  });
  if (organization === null) throw organizationNotFound();
  return organization;
}

/**
 * Members of a suspended organization can sign in, read and remove access, but get no new keys or credit.
 * @throws GatewayError `not_found`, `conflict`.
 */
export function requireActive(organization: OrganizationEntity | null): OrganizationEntity {
  if (organization === null) throw organizationNotFound();
  if (organization.status !== 'active') throw new GatewayError('conflict', 'The organization is suspended.');
  return organization;
}

export function organizationNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such organization.');
}

/**
 * Checks the member's role again: it may have changed after the guard's check, while the change waited for a lock.
 * @returns the role; `null`: platform staff or operator commands, which need no role.
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
  if (own === null || !mayActAs(own.role, role)) throw new GatewayError('forbidden', `This requires the role ${role}.`);
  return own.role;
}
