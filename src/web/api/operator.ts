import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { operations, OperatorUser, OrganizationStatus, PriceVersion } from '../../contract/dashboard';
import { nextCursor } from '../ui/pager';
import { api, unwrap } from './client';
import { pollEvery } from './polling';

const PAGE_SIZE = 50;
/** Of lists that share a page with others. */
const SHORT_PAGE_SIZE = 10;
const LARGEST_PAGE_SIZE = 100;
const HEALTH_POLL_MS = 5000;
const PLATFORM_POLL_MS = 30_000;

/** The keys of the families, to load again what a change concerns. */
export const operatorKeys = {
  organizations: ['operator', 'organizations'],
  users: ['operator', 'users'],
  purchases: ['operator', 'purchases'],
  models: ['operator', 'models'],
  deployments: ['operator', 'deployments'],
  providers: ['operator', 'providers'],
  credentials: ['operator', 'credentials'],
  audit: ['operator', 'audit'],
} as const;

interface OrganizationFilter {
  readonly search?: string;
  readonly status?: OrganizationStatus;
}

export const operatorOrganizationsQuery = (filter: OrganizationFilter) =>
  infiniteQueryOptions({
    queryKey: [...operatorKeys.organizations, 'list', filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      unwrap(
        api.GET('/dashboard/api/operator/organizations', {
          params: { query: { ...filter, limit: PAGE_SIZE, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

export const operatorOrganizationQuery = (organizationId: string) =>
  queryOptions({
    queryKey: [...operatorKeys.organizations, organizationId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/operator/organizations/{organization_id}', {
          params: { path: { organization_id: organizationId } },
          signal,
        }),
      ),
  });

export const operatorMembersQuery = (organizationId: string) =>
  infiniteQueryOptions({
    queryKey: [...operatorKeys.organizations, organizationId, 'members'],
    queryFn: ({ pageParam: cursor, signal }) =>
      unwrap(
        api.GET('/dashboard/api/operator/organizations/{organization_id}/members', {
          params: { path: { organization_id: organizationId }, query: { limit: SHORT_PAGE_SIZE, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

export const operatorApiKeysQuery = (organizationId: string) =>
  infiniteQueryOptions({
    queryKey: [...operatorKeys.organizations, organizationId, 'keys'],
    queryFn: ({ pageParam: cursor, signal }) =>
      unwrap(
        api.GET('/dashboard/api/operator/organizations/{organization_id}/keys', {
          params: { path: { organization_id: organizationId }, query: { limit: SHORT_PAGE_SIZE, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

export const operatorOrganizationPurchasesQuery = (organizationId: string) =>
  infiniteQueryOptions({
    queryKey: [...operatorKeys.organizations, organizationId, 'purchases'],
    queryFn: ({ pageParam: cursor, signal }) =>
      unwrap(
        api.GET('/dashboard/api/operator/organizations/{organization_id}/purchases', {
          params: { path: { organization_id: organizationId }, query: { limit: SHORT_PAGE_SIZE, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

/** Payments of all organizations that a person has to look at. */
export const purchasesToReviewQuery = infiniteQueryOptions({
  queryKey: [...operatorKeys.purchases, 'to-review'],
  queryFn: ({ pageParam: cursor, signal }) =>
    unwrap(
      api.GET('/dashboard/api/operator/purchases', {
        params: { query: { needs_review: true, limit: SHORT_PAGE_SIZE, cursor } },
        signal,
      }),
    ),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: nextCursor,
  refetchInterval: pollEvery(PLATFORM_POLL_MS),
});

interface UserFilter {
  readonly search?: string;
  readonly status?: OperatorUser['status'];
}

export const usersQuery = (filter: UserFilter) =>
  infiniteQueryOptions({
    queryKey: [...operatorKeys.users, filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      unwrap(
        api.GET('/dashboard/api/operator/users', {
          params: { query: { ...filter, limit: PAGE_SIZE, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });

export const servedModelsQuery = queryOptions({
  queryKey: [...operatorKeys.models, 'list'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/operator/models', { signal })),
  select: ({ data }) => data,
});

export interface ModelPath {
  readonly vendor: string;
  readonly name: string;
}

/** The whole price history: which version is in force depends on all of them. */
export const priceVersionsQuery = (path: ModelPath) =>
  queryOptions({
    queryKey: [...operatorKeys.models, `${path.vendor}/${path.name}`, 'prices'],
    queryFn: async ({ signal }) => {
      const versions: PriceVersion[] = [];
      let cursor: string | undefined;
      do {
        const query = { limit: LARGEST_PAGE_SIZE, cursor };
        const params = { path, query };
        const page = await unwrap(api.GET('/dashboard/api/operator/models/{vendor}/{name}/prices', { params, signal }));
        versions.push(...page.data);
        cursor = nextCursor(page);
      } while (cursor !== undefined);
      return versions;
    },
  });

/** Of one model, or all. */
export const deploymentsQuery = (model?: string) =>
  queryOptions({
    queryKey: [...operatorKeys.deployments, model],
    queryFn: ({ signal }) =>
      unwrap(api.GET('/dashboard/api/operator/deployments', { params: { query: { model } }, signal })),
    select: ({ data }) => data,
  });

export const providerHealthQuery = queryOptions({
  queryKey: operatorKeys.providers,
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/operator/providers', { signal })),
  select: ({ data }) => data,
  refetchInterval: pollEvery(HEALTH_POLL_MS),
});

export const credentialsQuery = queryOptions({
  queryKey: [...operatorKeys.credentials, 'list'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/operator/credentials', { signal })),
  select: ({ data }) => data,
});

export const providerInstancesQuery = queryOptions({
  queryKey: [...operatorKeys.credentials, 'provider-instances'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/operator/provider-instances', { signal })),
  select: ({ data }) => data,
});

export const taskLeasesQuery = queryOptions({
  queryKey: ['operator', 'task-leases'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/operator/task-leases', { signal })),
  select: ({ data }) => data,
  refetchInterval: pollEvery(HEALTH_POLL_MS),
});

export const instancesQuery = queryOptions({
  queryKey: ['operator', 'instances'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/operator/instances', { signal })),
  select: ({ data }) => data,
  refetchInterval: pollEvery(HEALTH_POLL_MS),
});

export const jobSummaryQuery = queryOptions({
  queryKey: ['operator', 'jobs', 'summary'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/operator/jobs/summary', { signal })),
  refetchInterval: pollEvery(PLATFORM_POLL_MS),
});

export const ledgerAuditQuery = queryOptions({
  queryKey: ['operator', 'ledger-audit'],
  queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/operator/ledger-audit', { signal })),
  refetchInterval: pollEvery(PLATFORM_POLL_MS),
});

type UsageQuery = NonNullable<operations['getOperatorUsageSeries']['parameters']['query']>;

/** By default up to now: the last 24 hours, or the last 30 days. */
export const platformUsageQuery = (query: UsageQuery) =>
  queryOptions({
    queryKey: ['operator', 'usage', query],
    queryFn: ({ signal }) => unwrap(api.GET('/dashboard/api/operator/usage/series', { params: { query }, signal })),
    refetchInterval: pollEvery(PLATFORM_POLL_MS),
  });

type AuditQuery = NonNullable<operations['listOperatorAuditEntries']['parameters']['query']>;

export const platformAuditQuery = (filter: Omit<AuditQuery, 'limit' | 'cursor'>) =>
  infiniteQueryOptions({
    queryKey: [...operatorKeys.audit, filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      unwrap(
        api.GET('/dashboard/api/operator/audit-log', {
          params: { query: { ...filter, limit: PAGE_SIZE, cursor } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
  });
