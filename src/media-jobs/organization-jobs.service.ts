import { Injectable } from '@nestjs/common';
import type { AuditRecord } from '../core/database/audit-log';
import { inTime } from '../core/database/in-time';
import { GatewayError } from '../core/errors/gateway-error';
import type { Actor } from '../core/types/actor';
import { type Page, type PageRequest, toPage } from '../core/types/page';
import { type JobFilter, JobListingRepository } from './job-listing.repository';
import { jobNotFound, JOBS_UNAVAILABLE } from './job-lookup';
import { JobReplies, type JobReply } from './job-replies';
import { JobTermination, notCancelable } from './job-termination';
import { MediaJobRepository } from './media-job.repository';
import { isFinal } from './media-job.states';
import type { MediaJob } from './media-job.types';

export interface OrganizationJob {
  readonly keyId: string;
  /** The job as `/v1` returns it, with freshly signed URLs. */
  readonly job: JobReply;
}

/** The jobs of an organization for its dashboard users: all of them, regardless of key permissions. */
@Injectable()
export class OrganizationJobs {
  constructor(
    private readonly listing: JobListingRepository,
    private readonly jobs: MediaJobRepository,
    private readonly replies: JobReplies,
    private readonly termination: JobTermination,
  ) {}

  /** Newest first. @throws GatewayError `validation_failed` for an invalid cursor */
  async list(organizationId: string, filter: JobFilter, page: PageRequest): Promise<Page<MediaJob>> {
    const rows = await this.listing.list(organizationId, filter, page);
    return toPage(rows, page.limit, ({ createdAtText, id }) => [createdAtText, id]);
  }

  /** @throws GatewayError `not_found`, `service_unavailable` when a URL cannot be signed */
  async get(organizationId: string, id: string): Promise<OrganizationJob> {
    return this.show(await this.require(organizationId, id));
  }

  /** @throws GatewayError `not_found`, `job_not_cancellable`, `service_unavailable` */
  async cancel(organizationId: string, id: string, actor: Actor): Promise<OrganizationJob> {
    const found = await this.require(organizationId, id);
    const { job, isCanceled } = await this.termination.cancel(
      found,
      () => this.require(organizationId, id),
      (current) => auditOf(current, 'job.canceled', actor),
    );
    if (!isCanceled) throw notCancelable('The job has ended.');
    return this.show(job);
  }

  /** @throws GatewayError `not_found`, `conflict` while the job is under way, `service_unavailable` */
  async delete(organizationId: string, id: string, actor: Actor): Promise<void> {
    const job = await this.require(organizationId, id);
    if (!isFinal(job.status)) throw new GatewayError('conflict', 'The job has not ended. Cancel it first.');
    await this.termination.delete(job, auditOf(job, 'job.deleted', actor));
  }

  private async require(organizationId: string, id: string): Promise<MediaJob> {
    const job = await inTime(this.jobs.find(id, organizationId, null), JOBS_UNAVAILABLE);
    if (job === null) throw jobNotFound();
    return job;
  }

  private async show(job: MediaJob): Promise<OrganizationJob> {
    return { keyId: job.keyId, job: await this.replies.of(job) };
  }
}

function auditOf({ id, organizationId, status }: MediaJob, action: string, actor: Actor): AuditRecord {
  return { organizationId, actor, action, target: { type: 'job', id }, before: { status } };
}
