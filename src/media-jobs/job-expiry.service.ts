import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { isPermanentDatabaseError } from '../core/database/driver-error';
import { CLOCK, type Clock } from '../core/time/clock';
import { EVERY_5_SECONDS, logFailure, scheduled } from '../core/scheduling/scheduling.module';
import { NO_USAGE } from '../providers/contract/usage';
import { JobMoneyRepository } from './job-money.repository';
import { receiptOf } from './job-receipt';
import { MediaJobRepository } from './media-job.repository';
import type { JobEnding, MediaJob } from './media-job.types';

/** Rows per query. */
const BATCH = 100;
/** If this many accounts are blocked in one sweep, the database itself is at fault. */
const MAX_BLOCKED_ACCOUNTS = 5;
const EXPIRED: JobEnding = { status: 'expired' };

/**
 * Expires jobs past their deadline, even while a worker holds them. Runs in gateways and in workers: jobs still end and
 * their holds are released when no worker is alive.
 */
@Injectable()
export class JobExpiry implements OnModuleDestroy {
  private readonly logger = new Logger(JobExpiry.name);
  private stopped = false;

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly money: JobMoneyRepository,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onModuleDestroy(): void {
    this.stopped = true;
  }

  @Cron(EVERY_5_SECONDS, scheduled('media-jobs.expiry'))
  sweepScheduled(): Promise<void> {
    const failure = { event: 'job_expiry_sweep_failed', message: 'failed to find expired jobs' };
    return logFailure(this.logger, failure, () => this.expireDue());
  }

  /** One sweep: ends every job past its deadline, except those of accounts that are locked now. */
  async expireDue(): Promise<void> {
    const blocked = new Set<string>();
    const rejected = new Set<string>();
    for (let more = true; more && !this.stopped;) {
      const expired = await this.jobs.findExpired(BATCH, blocked, rejected);
      await this.expireAll(expired, blocked, rejected);
      more = expired.length === BATCH;
    }
  }

  /**
   * After a failure, skips the other jobs of the organization; the next sweep retries them. A job whose end the
   * database rejects is skipped alone.
   * @param blocked organizations to skip; failing ones are added
   * @param rejected ids of jobs to skip; those that cannot end are added
   * @throws the last error once {@link MAX_BLOCKED_ACCOUNTS} organizations have failed
   */
  private async expireAll(expired: readonly MediaJob[], blocked: Set<string>, rejected: Set<string>): Promise<void> {
    for (const job of expired) {
      const { id: jobId, organizationId, status, provider } = job;
      if (this.stopped || blocked.has(organizationId)) continue;
      try {
        if (await this.expire(job)) {
          this.logger.warn({ message: 'job expired', event: 'job_expired', job_id: jobId, status, provider });
        }
      } catch (error) {
        const failure = { message: 'failed to expire a job', event: 'job_expiry_failed', job_id: jobId, err: error };
        if (isPermanentDatabaseError(error)) {
          rejected.add(jobId);
          this.logger.error(failure);
          continue;
        }
        blocked.add(organizationId);
        if (blocked.size === MAX_BLOCKED_ACCOUNTS) throw error;
        this.logger.warn(failure);
      }
    }
  }

  /** `false`: the job has already ended otherwise. */
  private async expire(job: MediaJob): Promise<boolean> {
    const receipt = receiptOf(job, EXPIRED, NO_USAGE, this.clock.now());
    return (await this.money.finish(job.id, EXPIRED, receipt)) !== null;
  }
}
