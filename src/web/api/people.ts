import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query';
import { nextCursor } from '../ui/pager';
import { api, unwrap } from './client';

/** Every query about members and invitations begins with this. */
export const membersKey = (organizationId: string) => ['organization', organizationId, 'members'] as const;

export const memberPagesQuery = (organizationId: string) =>
  infiniteQueryOptions({
    queryKey: [...membersKey(organizationId), 'pages'],
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/members', {
          params: { path: { organization_id: organizationId }, query: { cursor: pageParam } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

/** Invitations that are open or expired; for admins. */
export const invitationPagesQuery = (organizationId: string) =>
  infiniteQueryOptions({
    queryKey: [...membersKey(organizationId), 'invitations'],
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/invitations', {
          params: { path: { organization_id: organizationId }, query: { cursor: pageParam } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

export interface AuditFilter {
  readonly action?: string;
  /** ID of a user. */
  readonly actor?: string;
  /** First day, in UTC. */
  readonly from?: string;
  /** Last day, in UTC. */
  readonly until?: string;
}

const DAY_MS = 86_400_000;

/** The start of the day after the given one, ISO 8601. */
function dayAfter(day: string): string {
  return new Date(Date.parse(day) + DAY_MS).toISOString();
}

export const auditQuery = (organizationId: string, { action, actor, from, until }: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['organization', organizationId, 'audit', { action, actor, from, until }],
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/audit-log', {
          params: {
            path: { organization_id: organizationId },
            query: { action, actor, from, to: until === undefined ? undefined : dayAfter(until), cursor: pageParam },
          },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
    staleTime: 0,
    // The list stays while another filter loads.
    placeholderData: keepPreviousData,
  });
