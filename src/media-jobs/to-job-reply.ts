import { toRequestId } from '../core/types/ids';
import { microToJson } from '../core/types/micro';
import type { components } from '../contract/api';
import type { SignedUrl } from '../core/storage/object-storage';
import type { MediaArtifact, MediaJob } from './media-job.types';
import { jobObject } from './submission-answer';

/** A job as clients and webhooks see it: the document's `Job`. */
export type JobReply = components['schemas']['Job'];
export type ArtifactReply = components['schemas']['Artifact'];

export function toJobReply(job: MediaJob, artifacts: ArtifactReply[]): JobReply {
  return {
    id: job.id,
    object: jobObject(job.kind),
    request_id: toRequestId(job.id),
    org_id: job.organizationId,
    kind: job.kind,
    model: job.model,
    status: job.status,
    progress: job.progress,
    estimated_cost_micro: microToJson(job.estimatedCostMicro),
    max_cost_micro: microToJson(job.maxCostMicro),
    cost_micro: microToJson(job.costMicro),
    error: job.error,
    params: job.params,
    artifacts,
    webhook_url: job.webhookUrl,
    metadata: job.metadata,
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    completed_at: job.completedAt?.toISOString() ?? null,
    expires_at: job.expiresAt.toISOString(),
  };
}

export function toArtifactReply(artifact: MediaArtifact, { url, expiresAt }: SignedUrl): ArtifactReply {
  return {
    id: artifact.id,
    type: artifact.type,
    content_type: artifact.contentType,
    size_bytes: artifact.sizeBytes,
    width: artifact.width,
    height: artifact.height,
    duration_seconds: artifact.durationSeconds,
    url,
    expires_at: expiresAt.toISOString(),
  };
}
