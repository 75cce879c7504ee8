import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../core/time/clock';
import { GatewayError } from '../core/errors/gateway-error';
import { assertModelAllowed, type Principal } from '../core/types/request-context';
import { NO_USAGE } from '../providers/contract/usage';
import { JobMoneyRepository } from './job-money.repository';
import { receiptOf } from './job-receipt';
import { JobRemoval } from './job-removal';
import { JobReplies, type JobReply } from './job-replies';
import { JobRoutes } from './job-routes';
import { inTime } from '../core/database/in-time';
import { MediaJobRepository } from './media-job.repository';
import { isFinal } from './media-job.states';
import type { JobKind, MediaJob } from './media-job.types';

const UNAVAILABLE = 'Jobs are temporarily unavailable. Retry shortly.';
/** Only lower-case ids are accepted, so that each job has one URL. */
const JOB_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const CANCELED = { status: 'canceled' } as const;
/** Attempts to cancel a job that its worker keeps changing. A worker takes a step about every two seconds. */
const MAX_CANCEL_ATTEMPTS = 5;

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
  private readonly logger = new Logger(JobsService.name);

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly money: JobMoneyRepository,
    private readonly replies: JobReplies,
    private readonly removal: JobRemoval,
    private readonly routes: JobRoutes,
    @Inject(CLOCK) private readonly clock: Clock,
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
    let job = await this.require(lookup);
    for (let attempt = 1; attempt <= MAX_CANCEL_ATTEMPTS; attempt++) {
      if (isFinal(job.status)) return this.deleteEnded(job, attempt > 1);
      this.assertCancelable(job);
      const receipt = receiptOf(job, CANCELED, NO_USAGE, this.clock.now());
      const canceled = await this.money.finish(job.id, CANCELED, receipt, { version: job.version });
      if (canceled !== null) return this.replies.of(canceled);
      const current = await this.require(lookup);
      // The version is unchanged, so `media_job_finish` refused: the result is being fetched.
      if (current.version === job.version) break;
      job = current;
    }
    throw notCancelable('The job has finished and its result is being stored. It can no longer be canceled.');
  }

  /** Finds the caller's job and checks access to its model. Jobs of other organizations are `not_found`. */
  private async require({ id, kind, principal }: JobLookup): Promise<MediaJob> {
    const job = JOB_ID.test(id) ? await inTime(this.jobs.find(id, principal.organizationId, kind), UNAVAILABLE) : null;
    if (job === null) throw notFound();
    assertModelAllowed(principal, { id: job.model, modality: job.kind }, 'id');
    return job;
  }

  /** A job that was never submitted to a provider can always be canceled. */
  private assertCancelable({ kind, status, provider, submitStartedAt }: MediaJob): void {
    if (submitStartedAt === null || provider === null) return;
    const cancel = this.routes.adapterOf(provider, kind)?.capabilities.cancel ?? 'always';
    if (cancel === 'always' || (cancel === 'queued' && status !== 'running')) return;
    throw notCancelable('The provider of this job does not support cancellation at this stage.');
  }

  /** @param hasJustEnded the job was under way when the request arrived: the caller did not mean to delete a result */
  private async deleteEnded(job: MediaJob, hasJustEnded: boolean): Promise<null> {
    if (hasJustEnded && job.status === 'succeeded') {
      throw notCancelable('The job has just succeeded. Delete it again to remove it and its results.');
    }
    if (!(await inTime(this.jobs.markDeleted(job.id, job.organizationId), UNAVAILABLE))) throw notFound();
    try {
      await this.removal.remove(job);
    } catch (error) {
      this.logger.warn({
        message: 'failed to remove a deleted job; the sweep will retry',
        event: 'job_removal_failed',
        jobId: job.id,
        err: error,
      });
    }
    return null;
  }
}

function notFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such job.');
}

function notCancelable(message: string): GatewayError {
  return new GatewayError('job_not_cancellable', message);
}
