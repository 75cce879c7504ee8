import type { EntityManager } from 'typeorm';
import { GatewayError } from '../common/errors/gateway-error';
import { OrganizationEntity } from '../database/entities/organization.entity';

/**
 * The organization with its row locked: what counts keys, owners or invitations takes turns behind it. Reservations,
 * logins and reads do not take this lock.
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
 * While an organization is suspended its members sign in, read, and take rights away; what it could spend with, keys and
 * credit, it gets none of.
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
