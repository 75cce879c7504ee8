import { Injectable } from '@nestjs/common';
import { GatewayError } from '../core/errors/gateway-error';
import { type Page, type PageRequest, toPage } from '../core/types/page';
import { type JobFilter, JobListingRepository } from './job-listing.repository';
import { JobReplies, type JobReply } from './job-replies';
import { MediaJobRepository } from './media-job.repository';
import type { MediaJob } from './media-job.types';

export interface OrganizationJob {
  readonly keyId: string;
  /** As `/v1` returns it, with freshly signed URLs. */
  readonly job: JobReply;
}

/** The jobs of an organization for its dashboard users: all of them, regardless of key permissions. */
@Injectable()
export class OrganizationJobs {
  constructor(
    private readonly listing: JobListingRepository,
    private readonly jobs: MediaJobRepository,
    private readonly replies: JobReplies,
  ) {}

  /** Newest first. @throws GatewayError `validation_failed` for an invalid cursor */
  async list(organizationId: string, filter: JobFilter, page: PageRequest): Promise<Page<MediaJob>> {
    const rows = await this.listing.list(organizationId, filter, page);
    return toPage(rows, page.limit, ({ createdAtText, id }) => [createdAtText, id]);
  }

  /** @throws GatewayError `not_found`, `service_unavailable` when a URL cannot be signed */
  async get(organizationId: string, id: string): Promise<OrganizationJob> {
    const job = await this.jobs.find(id, organizationId, null);
    if (job === null) throw new GatewayError('not_found', 'There is no such job.');
    return { keyId: job.keyId, job: await this.replies.of(job) };
  }
}
