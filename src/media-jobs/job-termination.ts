import { Inject, Injectable, Logger } from '@nestjs/common';
import type { AuditRecord } from '../core/database/audit-log';
import { inTime } from '../core/database/in-time';
import { GatewayError } from '../core/errors/gateway-error';
import { CLOCK, type Clock } from '../core/time/clock';
import { NO_USAGE } from '../providers/contract/usage';
import { JobMoneyRepository } from './job-money.repository';
import { receiptOf } from './job-receipt';
import { JobRemoval } from './job-removal';
import { jobNotFound, JOBS_UNAVAILABLE } from './job-lookup';
import { JobRoutes } from './job-routes';
import { MediaJobRepository } from './media-job.repository';
import { isFinal } from './media-job.states';
import type { MediaJob } from './media-job.types';

const CANCELED = { status: 'canceled' } as const;
/** Attempts to cancel a job that its worker keeps changing. A worker takes a step about every two seconds. */
const MAX_CANCEL_ATTEMPTS = 5;

export interface Cancellation {
  readonly job: MediaJob;
  /** `false`: the job has meanwhile ended otherwise. */
  readonly isCanceled: boolean;
}

/** Cancels jobs under way and deletes ended ones, for the owner of the job. */
@Injectable()
export class JobTermination {
  private readonly logger = new Logger(JobTermination.name);

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly money: JobMoneyRepository,
    private readonly removal: JobRemoval,
    private readonly routes: JobRoutes,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * @param reread reads the job again
   * @param auditOf creates the audit entry that is written with the cancellation, from the job's state at that time
   * @throws GatewayError `job_not_cancellable`, `service_unavailable`, and whatever `reread` throws
   */
  async cancel(
    found: MediaJob,
    reread: () => Promise<MediaJob>,
    auditOf?: (job: MediaJob) => AuditRecord,
  ): Promise<Cancellation> {
    let job = found;
    for (let attempt = 1; attempt <= MAX_CANCEL_ATTEMPTS; attempt++) {
      if (isFinal(job.status)) return { job, isCanceled: false };
      this.assertCancelable(job);
      const receipt = receiptOf(job, CANCELED, NO_USAGE, this.clock.now());
      const options = { version: job.version, audit: auditOf?.(job) };
      const canceled = await this.money.finish(job.id, CANCELED, receipt, options);
      if (canceled !== null) return { job: canceled, isCanceled: true };
      const current = await reread();
      // The version is unchanged, so `media_job_finish` refused: the result is being stored.
      if (current.version === job.version) break;
      job = current;
    }
    throw notCancelable('The job has finished and its result is being stored. It can no longer be canceled.');
  }

  /**
   * Deletes a job that has ended, and its results.
   * @param audit written together with the deletion
   * @throws GatewayError `not_found` when it was deleted meanwhile, `service_unavailable`
   */
  async delete(job: MediaJob, audit: AuditRecord | null = null): Promise<void> {
    if (!(await inTime(this.jobs.markDeleted(job.id, job.organizationId, audit), JOBS_UNAVAILABLE))) {
      throw jobNotFound();
    }
    try {
      await this.removal.remove(job);
    } catch (error) {
      this.logger.warn({
        message: 'failed to remove a deleted job; the sweep will retry',
        event: 'job_removal_failed',
        job_id: job.id,
        err: error,
      });
    }
  }

  /** A job that was never submitted to a provider can always be canceled. */
  private assertCancelable({ kind, status, provider, submitStartedAt }: MediaJob): void {
    if (submitStartedAt === null || provider === null) return;
    const cancel = this.routes.adapterOf(provider, kind)?.capabilities.cancel ?? 'always';
    if (cancel === 'always' || (cancel === 'queued' && status !== 'running')) return;
    throw notCancelable('The provider of this job does not support cancellation at this stage.');
  }
}

export function notCancelable(message: string): GatewayError {
  return new GatewayError('job_not_cancellable', message);
}
