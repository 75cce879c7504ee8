import { queryOptions } from '@tanstack/react-query';
import type { ApiKey, ApiKeyStatus } from '../../contract/dashboard';
import { api, unwrap } from './client';

const STATUSES: readonly ApiKeyStatus[] = ['active', 'disabled', 'expired'];

/** The keys that are not revoked, for choices and for names in lists. */
export const keyChoicesQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'keys', 'choices'],
    queryFn: async ({ signal }): Promise<readonly ApiKey[]> => {
      const pages = await Promise.all(
        STATUSES.map((status) =>
          unwrap(
            api.GET('/dashboard/api/organizations/{organization_id}/keys', {
              params: { path: { organization_id: organizationId }, query: { status, limit: 100 } },
              signal,
            }),
          ),
        ),
      );
      return pages.flatMap(({ data }) => data);
    },
    staleTime: 60_000,
  });
