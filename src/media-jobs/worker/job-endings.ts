import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { Metrics } from '../../core/observability/metrics/catalogue';
import type { GatewayError } from '../../core/errors/gateway-error';
import type { Micro } from '../../core/types/micro';
import type { UsageRecord } from '../../billing/ledger/money.types';
import { NO_USAGE, type UsageVector } from '../../providers/contract/usage';
import { WebhookDeliveryService } from '../../webhooks/webhook-delivery.service';
import { JobMoneyRepository } from '../job-money.repository';
import { receiptOf } from '../job-receipt';
import { MediaJobRepository } from '../media-job.repository';
import { NO_RESULT, UNKNOWN_SUBMISSION } from './job-failure';
import type { JobEnding, JobError, MediaJob, NewArtifact } from '../media-job.types';

/** Ends jobs for workers. Each end is one transaction, and only the first one takes effect. */
@Injectable()
export class JobEndings {
  private readonly logger = new Logger(JobEndings.name);

  constructor(
    private readonly money: JobMoneyRepository,
    private readonly jobs: MediaJobRepository,
    private readonly metrics: Metrics,
    private readonly webhooks: WebhookDeliveryService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @param cause only logged: the client gets `error` and nothing else */
  async fail(job: MediaJob, error: JobError, cause?: unknown): Promise<void> {
    const { provider, deploymentId, submissions } = job;
    const facts = { job_id: job.id, code: error.code, provider, deployment: deploymentId, submissions, err: cause };
    if (await this.end(job, { status: 'failed', error }, NO_USAGE)) {
      this.logger.warn({ message: 'job failed', event: 'job_failed', ...facts });
    }
  }

  /** Logs an error, because the provider may be working on a result that the gateway never fetches. */
  async failUnknown(job: MediaJob, cause?: unknown): Promise<void> {
    const { id: jobId, provider, providerToken } = job;
    const facts = {
      job_id: jobId,
      provider,
      provider_token: providerToken,
      event: 'provider_submit_unknown',
      err: cause,
    };
    this.logger.error({ message: 'unknown whether the provider accepted the job', ...facts });
    await this.fail(job, UNKNOWN_SUBMISSION, cause);
  }

  /** Logs an error, because the provider may bill a result that it does not deliver or no longer has. */
  async failWithoutResult(job: MediaJob, error: JobError = NO_RESULT, cause?: unknown): Promise<void> {
    const { id: jobId, provider, deploymentId, handle } = job;
    this.logger.error({
      message: 'the result of a job is lost',
      event: 'job_result_lost',
      job_id: jobId,
      provider,
      deployment: deploymentId,
      provider_job_id: handle?.id,
    });
    await this.fail(job, error, cause);
  }

  /** An image of the job is permanently unavailable. A submission that has begun may still have been accepted. */
  async failInputs(job: MediaJob, error: GatewayError): Promise<void> {
    if (job.submitStartedAt !== null) await this.failUnknown(job, error);
    else await this.fail(job, { code: error.code, message: error.message }, error);
  }

  async succeed(job: MediaJob, costMicro: Micro, artifacts: readonly NewArtifact[], usage: UsageVector): Promise<void> {
    if (!(await this.end(job, { status: 'succeeded', costMicro, artifacts }, usage))) await this.noteLateSuccess(job);
  }

  /** Logs a result that arrived after the job ended: it is not charged, but the provider may bill the operator. */
  async noteLateSuccess({ id, organizationId, kind, provider, handle }: MediaJob): Promise<void> {
    const current = await this.jobs.find(id, organizationId, kind);
    // Another worker holds the job, or the success was recorded and only the database's response was lost.
    if (current !== null && (current.completedAt === null || current.status === 'succeeded')) return;
    this.logger.warn({
      message: 'a provider finished a job that had already ended',
      event: 'late_provider_success',
      job_id: id,
      status: current?.status ?? 'deleted',
      provider,
      provider_job_id: handle?.id,
    });
  }

  private async end(job: MediaJob, ending: JobEnding, usage: UsageVector): Promise<boolean> {
    const receipt = receiptOf(job, ending, usage, this.clock.now());
    const ended = await this.money.finish(job.id, ending, receipt, { fence: job.fence });
    if (ended !== null) this.record(job, ending, receipt);
    if (ended !== null && ended.webhookUrl !== null) void this.webhooks.wakeForJob(job.organizationId, job.id);
    return ended !== null;
  }

  private record({ kind, model }: MediaJob, ending: JobEnding, { usage, totalMs }: UsageRecord): void {
    const { jobDuration, charged, mediaUnits } = this.metrics;
    jobDuration.of(kind, ending.status).observe(totalMs / 1_000);
    if (ending.status !== 'succeeded') return;
    if (ending.costMicro > 0n) charged.of(model).inc(Number(ending.costMicro));
    if (usage.seconds > 0) mediaUnits.of(model, 'second').inc(usage.seconds);
  }
}
