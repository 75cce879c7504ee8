import type { EntityManager, FindOptionsWhere } from 'typeorm';
import type { Actor } from '../common/actor';
import { GatewayError } from '../common/errors/gateway-error';
import { UserAccountEntity } from '../database/entities/user-account.entity';

/** Everything of a user; the hash of the password too, which is not read by itself. */
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

/** Reads a user with the row locked: changes of one account take turns. Sessions and memberships do not wait for it. */
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

/** With the hash of the password, and nothing locked. */
export function findUserToJudge(manager: EntityManager, emailKey: string): Promise<UserAccountEntity | null> {
  return manager.findOne(UserAccountEntity, { select: ALL_COLUMNS, where: { emailKey } });
}

/** The user himself, once a token or password has proved it, wherever the visit came from. */
export function asUser(visitor: Actor, userId: string): Actor {
  return { ...visitor, kind: 'user', userId };
}

export function userNotFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such user.');
}
