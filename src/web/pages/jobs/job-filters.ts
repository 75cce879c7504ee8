import type { JobStatus } from '../../../contract/dashboard';
import { allOf, dayOf, oneOf, textOf, uuidOf } from '../../app/search-values';

export const JOB_KINDS = ['video', 'music'] as const;
export const JOB_STATUSES = allOf<JobStatus>({
  queued: true,
  submitted: true,
  running: true,
  succeeded: true,
  failed: true,
  canceled: true,
  expired: true,
});

/** The filters of the list of jobs, as they are in the URL; days are UTC, the last one included. */
export interface JobSearch {
  readonly kind?: (typeof JOB_KINDS)[number];
  readonly status?: JobStatus;
  readonly model?: string;
  readonly key?: string;
  readonly from?: string;
  readonly to?: string;
}

export function jobSearch(search: Record<string, unknown>): JobSearch {
  return {
    kind: oneOf(search.kind, JOB_KINDS),
    status: oneOf(search.status, JOB_STATUSES),
    model: textOf(search.model),
    key: uuidOf(search.key),
    from: dayOf(search.from),
    to: dayOf(search.to),
  };
}
