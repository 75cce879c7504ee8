import { Injectable } from '@nestjs/common';
import { inTime } from '../core/database/in-time';
import { assertModelAllowed, type Principal } from '../core/types/request-context';
import { jobNotFound, JOBS_UNAVAILABLE } from './job-lookup';
import { JobReplies, type JobReply } from './job-replies';
import { JobTermination, notCancelable } from './job-termination';
import { MediaJobRepository } from './media-job.repository';
import { isFinal } from './media-job.states';
import type { JobKind, MediaJob } from './media-job.types';

/** Only lower-case ids are accepted, so that each job has one URL. */
const JOB_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A job id and the caller that asks for it. */
export interface JobLookup {
  readonly id: string;
  /** `null` for any kind. */
  readonly kind: JobKind | null;
  readonly principal: Principal;
}

/** Reads, cancels and deletes jobs. Needs no Redis. */
@Injectable()
export class JobsService {
  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly replies: JobReplies,
    private readonly termination: JobTermination,
  ) {}

  /** @throws GatewayError `not_found`, `model_not_allowed`, `modality_not_allowed`, `service_unavailable` */
  async get(lookup: JobLookup): Promise<JobReply> {
    return this.replies.of(await this.require(lookup));
  }

  /**
   * Cancels a job that is under way and returns it; deletes one that has ended and returns `null`.
   * @throws GatewayError `job_not_cancellable`; and as {@link get}
   */
  async delete(lookup: JobLookup): Promise<JobReply | null> {
    const found = await this.require(lookup);
    const { job, isCanceled } = await this.termination.cancel(found, () => this.require(lookup));
    if (isCanceled) return this.replies.of(job);
    // The job was in progress when the request arrived, so the caller did not mean to delete a result.
    if (!isFinal(found.status) && job.status === 'succeeded') {
      throw notCancelable('The job has just succeeded. Delete it again to remove it and its results.');
    }
    await this.termination.delete(job);
    return null;
  }

  /** Finds the caller's job and checks access to its model. Jobs of other organizations are `not_found`. */
  private async require({ id, kind, principal }: JobLookup): Promise<MediaJob> {
    const job = JOB_ID.test(id)
      ? await inTime(this.jobs.find(id, principal.organizationId, kind), JOBS_UNAVAILABLE)
      : null;
    if (job === null) throw jobNotFound();
    assertModelAllowed(principal, { id: job.model, modality: job.kind }, 'id');
    return job;
  }
}
