import type { operations } from '../../contract/dashboard';
import type { CurrentUser, Role } from '../api/session';
import { mayActAs, membershipOf } from '../api/session';

/** Who may open a page. */
export type Least = 'anyone' | 'user' | 'operator' | Role;

export type OperationId = keyof operations;

/** Whether the user may open a page; roles are those in the organization. */
export function mayOpen(user: CurrentUser, least: Least, organizationId: string | undefined): boolean {
  if (least === 'anyone' || least === 'user') return true;
  if (least === 'operator') return user.is_operator;
  const role = organizationId === undefined ? undefined : membershipOf(user, organizationId)?.role;
  return role !== undefined && mayActAs(role, least);
}
