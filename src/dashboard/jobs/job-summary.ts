import { toRequestId } from '../../core/types/ids';
import { microToJson } from '../../core/types/micro';
import type { components } from '../../contract/dashboard';
import type { MediaJob } from '../../media-jobs/media-job.types';
import { jobObject } from '../../media-jobs/submission-answer';

/** A job in a list: the document's `JobSummary`. */
export function toJobSummary(job: MediaJob): components['schemas']['JobSummary'] {
  return {
    id: job.id,
    object: jobObject(job.kind),
    request_id: toRequestId(job.id),
    key_id: job.keyId,
    kind: job.kind,
    model: job.model,
    status: job.status,
    progress: job.progress,
    estimated_cost_micro: microToJson(job.estimatedCostMicro),
    cost_micro: microToJson(job.costMicro),
    error: job.error,
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    completed_at: job.completedAt?.toISOString() ?? null,
    expires_at: job.expiresAt.toISOString(),
  };
}
