import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { JobStatus, OrganizationJob, operations } from '../../contract/dashboard';
import { nextCursor } from '../ui/pager';
import { api, unwrap } from './client';
import { pollEvery } from './polling';

type JobFilters = Omit<NonNullable<operations['listJobs']['parameters']['query']>, 'cursor' | 'limit'>;

const LIST_POLL_MS = 3000;
const ENDED: ReadonlySet<JobStatus> = new Set(['succeeded', 'failed', 'canceled', 'expired']);

export function hasEnded(status: JobStatus): boolean {
  return ENDED.has(status);
}

export const jobsQuery = (organizationId: string, filters: JobFilters = {}) =>
  infiniteQueryOptions({
    queryKey: ['organization', organizationId, 'jobs', 'list', filters],
    queryFn: ({ pageParam, signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/jobs', {
          params: { path: { organization_id: organizationId }, query: { ...filters, cursor: pageParam } },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: nextCursor,
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ data }) => data.some(({ status }) => !hasEnded(status))) === true &&
      pollEvery(LIST_POLL_MS)(),
  });

export const jobQuery = (organizationId: string, jobId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'jobs', jobId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/dashboard/api/organizations/{organization_id}/jobs/{job_id}', {
          params: { path: { organization_id: organizationId, job_id: jobId } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => {
      const pauseMs = state.data === undefined ? null : pauseBeforeNextRead(state.data);
      return pauseMs !== null && pollEvery(pauseMs)();
    },
  });

/** Stops a job that is under way. @throws ApiError */
export function cancelJob(organizationId: string, jobId: string) {
  return unwrap(
    api.POST('/dashboard/api/organizations/{organization_id}/jobs/{job_id}/cancel', {
      params: { path: { organization_id: organizationId, job_id: jobId } },
    }),
  );
}

const RENEWAL_MARGIN_MS = 30_000;

/** Running jobs are read less often the longer they take; links to outputs are renewed before they expire. */
function pauseBeforeNextRead({ job, webhook_deliveries }: OrganizationJob): number | null {
  if (!hasEnded(job.status)) {
    const ageMs = Date.now() - Date.parse(job.created_at);
    return ageMs < 30_000 ? 1000 : ageMs < 300_000 ? 2000 : 5000;
  }
  if (webhook_deliveries.some(({ state }) => state === 'pending')) return 5000;
  const expiries = job.artifacts.map(({ expires_at }) => Date.parse(expires_at));
  if (expiries.length === 0) return null;
  return Math.max(Math.min(...expiries) - Date.now() - RENEWAL_MARGIN_MS, RENEWAL_MARGIN_MS);
}
