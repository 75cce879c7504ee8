import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, unwrap } from './client';
import { pollEvery } from './polling';
import { fallbackCalls } from '../format/receipt';
import { filtersOf, type RequestFilters, type RequestSearch } from './request-search';

const LIVE_POLL_MS = 3000;
const REQUESTS = '/dashboard/api/organizations/{organization_id}/usage/requests';

/** Requests, latest first; a relative range counts from each load. `live` loads them again every three seconds. */
export const requestsQuery = (organizationId: string, search: RequestSearch, live: boolean) =>
  infiniteQueryOptions({
    queryKey: ['organization', organizationId, 'requests', 'list', search],
    queryFn: ({ signal, pageParam: cursor }) =>
      unwrap(
        api.GET(REQUESTS, {
          params: { path: { organization_id: organizationId }, query: { ...filtersOf(search), cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: cursor }) => cursor ?? undefined,
    refetchInterval: live ? pollEvery(LIVE_POLL_MS) : false,
  });

/** The latest requests that pass the filters. */
export const latestRequestsQuery = (organizationId: string, filters: RequestFilters, limit: number, pollMs?: number) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'requests', 'latest', filters, limit],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET(REQUESTS, {
          params: { path: { organization_id: organizationId }, query: { ...filters, limit } },
          signal,
        }),
      ),
    refetchInterval: pollMs === undefined ? false : pollEvery(pollMs),
  });

/** The receipt of a request, by its `X-Request-Id` or id; it never changes. @throws ApiError */
export function readReceipt(organizationId: string, requestId: string, signal?: AbortSignal) {
  return unwrap(
    api.GET('/dashboard/api/organizations/{organization_id}/usage/requests/{request_id}', {
      params: { path: { organization_id: organizationId, request_id: requestId } },
      signal,
    }),
  );
}

/** How many calls failed before another deployment answered; 0 also while the receipt cannot be read. */
export async function fallbackCallsOf(organizationId: string, requestId: string): Promise<number> {
  return readReceipt(organizationId, requestId).then(fallbackCalls, () => 0);
}

export const receiptQuery = (organizationId: string, requestId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'requests', 'receipt', requestId],
    queryFn: ({ signal }) => readReceipt(organizationId, requestId, signal),
    staleTime: 300_000,
  });

/** The address of `exportRequests`: all rows of the list as CSV. */
export function requestsExport(organizationId: string, search: RequestSearch): string {
  const filters = Object.entries(filtersOf(search)).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return `/dashboard/api/organizations/${organizationId}/usage/requests.csv?${new URLSearchParams(filters)}`;
}
