import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { CLOCK, type Clock } from '../../common/clock';
import type { Micro } from '../../common/micro';
import { NO_USAGE, type UsageVector } from '../../providers/contract/usage';
import { WebhookDeliveryService } from '../../webhooks/webhook-delivery.service';
import { JobMoneyRepository } from '../job-money.repository';
import { receiptOf } from '../job-receipt';
import { MediaJobRepository } from '../media-job.repository';
import type { JobEnding, JobError, MediaJob, NewArtifact } from '../media-job.types';

/** The ends that workers bring about. Each is one transaction, and only the first of all ends happens. */
@Injectable()
export class JobEndings {
  private readonly logger = new Logger(JobEndings.name);

  constructor(
    private readonly money: JobMoneyRepository,
    private readonly jobs: MediaJobRepository,
    @Inject(CLOCK) private readonly clock: Clock,
    @Optional() private readonly webhooks: WebhookDeliveryService | null = null,
  ) {}

  /** @param cause for the log: the client is told `error` and nothing else */
  async fail(job: MediaJob, error: JobError, cause?: unknown): Promise<void> {
    const { provider, deploymentId, submissions } = job;
    const facts = { jobId: job.id, code: error.code, provider, deployment: deploymentId, submissions, err: cause };
    if (await this.end(job, { status: 'failed', error }, NO_USAGE)) {
      this.logger.warn({ message: 'a job has failed', ...facts });
    }
  }

  async succeed(job: MediaJob, costMicro: Micro, artifacts: readonly NewArtifact[], usage: UsageVector): Promise<void> {
    if (!(await this.end(job, { status: 'succeeded', costMicro, artifacts }, usage))) await this.noteLateSuccess(job);
  }

  /** Whoever is at work on it: expiry asks nobody. `false`: it has ended otherwise. */
  async expire(job: MediaJob): Promise<boolean> {
    const ending: JobEnding = { status: 'expired' };
    const ended = await this.money.finish(job.id, ending, receiptOf(job, ending, NO_USAGE, this.clock.now()));
    return ended !== null;
  }

  /** A result came after the job was given up: it is not charged, and the operator may have to pay for it. */
  async noteLateSuccess({ id, organizationId, kind, provider, handle }: MediaJob): Promise<void> {
    const current = await this.jobs.find(id, organizationId, kind);
    // Somebody else's job now, or their success: only the answer of the database to it was lost.
    if (current !== null && (current.completedAt === null || current.status === 'succeeded')) return;
    this.logger.warn({
      message: 'a provider has finished a job that was given up',
      event: 'late_provider_success',
      jobId: id,
      status: current?.status ?? 'deleted',
      provider,
      providerJobId: handle?.id,
    });
  }

  private async end(job: MediaJob, ending: JobEnding, usage: UsageVector): Promise<boolean> {
    const receipt = receiptOf(job, ending, usage, this.clock.now());
    const ended = await this.money.finish(job.id, ending, receipt, { fence: job.fence });
    if (ended !== null && ended.webhookUrl !== null) this.webhooks?.wake();
    return ended !== null;
  }
}
