import { Injectable } from '@nestjs/common';
import { GatewayError } from '../common/errors/gateway-error';
import { type Page, type PageRequest, toPage } from '../common/page';
import { type JobFilter, JobListingRepository } from './job-listing.repository';
import { JobReplies } from './job-replies';
import { MediaJobRepository } from './media-job.repository';
import type { MediaJob } from './media-job.types';
import type { JobReply } from './to-job-reply';

export interface OrganizationJob {
  readonly keyId: string;
  /** As `/v1` tells it, with addresses that have just been signed. */
  readonly job: JobReply;
}

/** Jobs as the people of an organization see them: all of them, not only those that one key may look at. */
@Injectable()
export class OrganizationJobs {
  constructor(
    private readonly listing: JobListingRepository,
    private readonly jobs: MediaJobRepository,
    private readonly replies: JobReplies,
  ) {}

  /** The newest first. @throws GatewayError `validation_failed` for a cursor that is none */
  async list(organizationId: string, filter: JobFilter, page: PageRequest): Promise<Page<MediaJob>> {
    const rows = await this.listing.list(organizationId, filter, page);
    return toPage(rows, page.limit, ({ createdAtText, id }) => [createdAtText, id]);
  }

  /** @throws GatewayError `not_found`, `service_unavailable` when an address cannot be signed */
  async get(organizationId: string, id: string): Promise<OrganizationJob> {
    const job = await this.jobs.find(id, organizationId, null);
    if (job === null) throw new GatewayError('not_found', 'There is no such job.');
    return { keyId: job.keyId, job: await this.replies.of(job) };
  }
}
