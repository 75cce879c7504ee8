import type { EntityManager, FindOptionsWhere } from 'typeorm';
import type { Actor } from '../../core/types/actor';
import { GatewayError } from '../../core/errors/gateway-error';
import { UserAccountEntity } from '../../core/database/entities/user-account.entity';

/** All columns of a user, including the password hash, which is not selected by default. */
const ALL_COLUMNS = {
  id: true,
  email: true,
  emailKey: true,
  name: true,
  passwordHash: true,
  status: true,
  isOperator: true,
  emailVerifiedAt: true,
  signupOrganizationName: true,
  lastLoginAt: true,
  createdAt: true,
} as const;

/**
 * Reads and locks a user's row, which serializes changes of one account. Sessions and memberships do not wait for this
 * lock.
 */
export function lockUser(
  manager: EntityManager,
  where: FindOptionsWhere<UserAccountEntity>,
): Promise<UserAccountEntity | null> {
  return manager.findOne(UserAccountEntity, { select: ALL_COLUMNS, where, lock: { mode: 'for_no_key_update' } });
}

/** @throws GatewayError `not_found`. */
export async function requireLockedUser(manager: EntityManager, userId: string): Promise<UserAccountEntity> {
  const user = await lockUser(manager, { id: userId });
  if (user === null) throw userNotFound();
  return user;
}

/** Reads a user with the password hash and without a lock. */
export function findUserForLogin(manager: EntityManager, emailKey: string): Promise<UserAccountEntity | null> {
  return manager.findOne(UserAccountEntity, { select: ALL_COLUMNS, where: { emailKey } });
}

export async function findUserId(manager: EntityManager, emailKey: string): Promise<string | undefined> {
  const user = await manager.findOne(UserAccountEntity, { select: { id: true }, where: { emailKey } });
  return user?.id;
}

/** The visitor as the user, once a token or password has proved the identity. */
export function asUser(visitor: Actor, userId: string): Actor {
  return { ...visitor, kind: 'user', userId };
}

export function userNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such user.');
}
