import { useSuspenseQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { currentUserQuery, mayActAs, membershipOf, type CurrentUser, type Role } from '../api/session';

/** The signed-in user; only below the signed-in layout. */
export function useCurrentUser(): CurrentUser {
  return useSuspenseQuery(currentUserQuery).data;
}

interface CurrentOrganization {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  /** Whether the user's role includes the given one. */
  readonly may: (least: Role) => boolean;
}

/** The organization in the path; only below the organization layout. */
export function useOrganization(): CurrentOrganization {
  const { org } = useParams({ from: '/signed-in/o/$org' });
  const membership = membershipOf(useCurrentUser(), org);
  if (membership === undefined) throw new Error('The page is not below the organization layout.');
  return {
    id: org,
    name: membership.name,
    role: membership.role,
    may: (least) => mayActAs(membership.role, least),
  };
}
