import { queryOptions } from '@tanstack/react-query';
import type { CurrentUser, Role, UserMembership } from '../../contract/dashboard';
import { api, unwrap } from './client';

export type { CurrentUser, Role };

export const currentUserQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/me', { signal })),
  staleTime: 30_000,
});

const RANKS: Readonly<Record<Role, number>> = { viewer: 0, developer: 1, admin: 2, owner: 3 };

/** Each role includes those before it: viewer, developer, admin, owner. */
export function mayActAs(role: Role, least: Role): boolean {
  return RANKS[role] >= RANKS[least];
}

export function membershipOf(user: CurrentUser, organizationId: string): UserMembership | undefined {
  return user.memberships.find(({ organization_id }) => organization_id === organizationId);
}
