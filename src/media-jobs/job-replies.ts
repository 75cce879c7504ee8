import { Injectable } from '@nestjs/common';
import { StoredObjects } from '../storage/stored-objects';
import { MediaJobRepository } from './media-job.repository';
import type { MediaJob } from './media-job.types';
import { type ArtifactReply, type JobReply, toArtifactReply, toJobReply } from './to-job-reply';

/** Tells of jobs, with addresses of their results that have just been signed. */
@Injectable()
export class JobReplies {
  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly objects: StoredObjects,
  ) {}

  /** @throws GatewayError `service_unavailable` when an address cannot be signed */
  async of(job: MediaJob): Promise<JobReply> {
    return toJobReply(job, job.status === 'succeeded' ? await this.artifactsOf(job) : []);
  }

  /** Of a deployment that has no storage any more, there is nothing left to be fetched. */
  private async artifactsOf({ id }: MediaJob): Promise<ArtifactReply[]> {
    if (!this.objects.isConfigured) return [];
    const artifacts = await this.jobs.findArtifacts(id);
    return Promise.all(
      artifacts.map(async (artifact) => toArtifactReply(artifact, await this.objects.sign(artifact.storageKey))),
    );
  }
}
