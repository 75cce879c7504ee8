import { queryOptions } from '@tanstack/react-query';
import type { operations } from '../../contract/dashboard';
import { api, unwrap } from './client';
import { pollEvery } from './polling';

export type SeriesParameters = NonNullable<operations['getUsageSeries']['parameters']['query']>;

const POLL_MS = 60_000;

export const usageSeriesQuery = (organizationId: string, query: SeriesParameters) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'usage', 'series', query],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/usage/series', {
          params: { path: { organization_id: organizationId }, query },
          signal,
        }),
      ),
    refetchInterval: pollEvery(POLL_MS),
  });
