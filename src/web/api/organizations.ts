import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from './client';

export const organizationQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'profile'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}', {
          params: { path: { organization_id: organizationId } },
          signal,
        }),
      ),
    staleTime: 60_000,
  });

export const membersQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'members'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/members', {
          params: { path: { organization_id: organizationId }, query: { limit: 100 } },
          signal,
        }),
      ),
  });
