import { queryOptions } from '@tanstack/react-query';
import { api, unwrap } from './client';
import { pollEvery } from './polling';

const BALANCE_POLL_MS = 30_000;

export const balanceQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'billing', 'balance'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/billing/balance', {
          params: { path: { organization_id: organizationId } },
          signal,
        }),
      ),
    refetchInterval: pollEvery(BALANCE_POLL_MS),
  });
