import { Injectable } from '@nestjs/common';
import type { components } from '../contract/api';
import { type Answer, Bytes, Json } from '../core/http/answer';
import type { SignedUrl } from '../core/storage/object-storage';
import { StoredObjects } from '../core/storage/stored-objects';
import { toRequestId } from '../core/types/ids';
import { microToJson } from '../core/types/micro';
import { MediaJobRepository } from './media-job.repository';
import type { MediaArtifact, MediaJob } from './media-job.types';
import { jobObject } from './submission-answer';

/** A job as clients and webhooks see it: the document's `Job`. */
export type JobReply = components['schemas']['Job'];
type ArtifactReply = components['schemas']['Artifact'];

/** Builds job replies with freshly signed result URLs. */
@Injectable()
export class JobReplies {
  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly objects: StoredObjects,
  ) {}

  /** @throws GatewayError `service_unavailable` when a URL cannot be signed */
  async of(job: MediaJob): Promise<JobReply> {
    return toJobReply(job, job.status === 'succeeded' ? await this.artifactsOf(job) : []);
  }

  /** Empty when object storage is no longer configured. */
  private async artifactsOf(job: MediaJob): Promise<ArtifactReply[]> {
    if (!this.objects.isConfigured) return [];
    const artifacts = await this.jobs.findArtifacts(job);
    return Promise.all(
      artifacts.map(async (artifact) =>
        toArtifactReply(artifact, await this.objects.sign(artifact.storageKey, artifact.keptUntil)),
      ),
    );
  }
}

/** 200 with a job that was canceled; 204 for one that was deleted (`null`). */
export function toDeletionAnswer(canceled: JobReply | null): Answer {
  return canceled === null
    ? new Bytes(null, null, { status: 204 })
    : new Json(JSON.stringify(canceled), { status: 200 });
}

function toJobReply(job: MediaJob, artifacts: ArtifactReply[]): JobReply {
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

function toArtifactReply(artifact: MediaArtifact, { url, expiresAt }: SignedUrl): ArtifactReply {
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
