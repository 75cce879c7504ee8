import { Injectable } from '@nestjs/common';
import { StoredObjects } from '../core/storage/stored-objects';
import { MediaJobRepository } from './media-job.repository';
import type { MediaJob } from './media-job.types';
import { type ArtifactReply, type JobReply, toArtifactReply, toJobReply } from './to-job-reply';

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

  /** None when object storage is no longer configured. */
  private async artifactsOf({ id }: MediaJob): Promise<ArtifactReply[]> {
    if (!this.objects.isConfigured) return [];
    const artifacts = await this.jobs.findArtifacts(id);
    return Promise.all(
      artifacts.map(async (artifact) => toArtifactReply(artifact, await this.objects.sign(artifact.storageKey))),
    );
  }
}
