import { Inject, Injectable, Logger } from '@nestjs/common';
import { type CompiledPrice, compilePrice, sanitizeUsage } from '../../billing/pricing/price';
import { differsFromList } from '../../billing/pricing/vendor-bill';
import { RepeatGuard } from '../../core/observability/repeat-guard';
import { CLOCK, type Clock } from '../../core/time/clock';
import { inStep } from '../../core/types/trace';
import { type Micro, microToJson } from '../../core/types/micro';
import { CatalogRepository } from '../../models/catalog.repository';
import type { JobSnapshot } from '../../providers/contract/media-job';
import { NO_USAGE, type UsageVector, vendorBillOf } from '../../providers/contract/usage';
import { jobCostMicro, jobUsageCostMicro } from '../job-hold';
import { JobWorkRepository } from '../job-work.repository';
import type { MediaJob, NewArtifact } from '../media-job.types';
import { ArtifactIntake, type OutputSource, ResultError } from './artifact-intake';
import { JobEndings } from './job-endings';
import { TOO_LARGE } from './job-failure';
import type { JobLease } from './job-lease';

export type Success = Extract<JobSnapshot, { readonly state: 'succeeded' }>;

/**
 * `ended`: done. `no-result`: the provider's result cannot be obtained. `unreachable`: its host may deliver it later.
 * `no-storage`: the gateway's own storage failed.
 */
export type Finalized = 'ended' | 'no-result' | 'unreachable' | 'no-storage';

/** Maximum number of compiled prices: enough for all jobs that end at about the same time. */
const MAX_COMPILED = 1_000;

/**
 * Completes a job that the provider has finished: stores its files, charges it and ends it. Idempotent: any worker may
 * restart it at any point.
 */
@Injectable()
export class FinalizeStep {
  private readonly logger = new Logger(FinalizeStep.name);
  /** By price version, which never changes. */
  private readonly compiled = new Map<string, CompiledPrice>();
  private readonly repeats: RepeatGuard;

  constructor(
    private readonly work: JobWorkRepository,
    private readonly intake: ArtifactIntake,
    private readonly prices: CatalogRepository,
    private readonly endings: JobEndings,
    @Inject(CLOCK) clock: Pick<Clock, 'monotonic'>,
  ) {
    this.repeats = new RepeatGuard(clock);
  }

  finalizeJob(lease: JobLease, success: Success, source: OutputSource): Promise<Finalized> {
    const done = (outcome: Finalized) => ({ 'gateway.outcome': outcome });
    return inStep(lease.trace, 'job finalize', () => this.complete(lease, success, source), { done });
  }

  private async complete(
    { job, stopRequested, trace }: JobLease,
    success: Success,
    source: OutputSource,
  ): Promise<Finalized> {
    if (!(await this.work.beginFinalizing(job))) {
      await this.endings.noteLateSuccess(job);
      return 'ended';
    }
    if (success.outputs.length === 0) {
      await this.endings.failWithoutResult(job);
      return 'ended';
    }
    const artifacts: NewArtifact[] = [];
    try {
      for (const [index, output] of success.outputs.entries()) {
        artifacts.push(await this.intake.take(job, index, output, source, trace));
      }
    } catch (error) {
      return stopRequested.aborted ? 'no-storage' : this.handleFailure(job, error);
    }
    const usage = usageOf(job, success.usage, artifacts);
    const costMicro = await this.costOf(job, usage, (success.usage?.seconds ?? 0) > 0);
    await this.endings.succeed(job, costMicro, artifacts, usage);
    return 'ended';
  }

  /** Fetching and storing are retried, for hours if a host or the storage is down. */
  private async handleFailure(job: MediaJob, error: unknown): Promise<Finalized> {
    const facts = { job_id: job.id, provider: job.provider, err: error };
    if (!(error instanceof ResultError)) {
      if (this.repeats.admit(job.id, 'storage')) {
        this.logger.warn({
          message: 'failed to store the result of a job',
          event: 'job_result_store_failed',
          ...facts,
        });
      }
      return 'no-storage';
    }
    const { fault } = error;
    if (this.repeats.admit(job.id, fault)) {
      this.logger.warn({
        message: 'failed to obtain the result of a job',
        event: 'job_result_unavailable',
        fault,
        ...facts,
      });
    }
    if (fault === 'unreachable') return 'unreachable';
    if (fault !== 'too-large') return 'no-result';
    await this.endings.fail(job, TOO_LARGE);
    return 'ended';
  }

  /**
   * Uses the price of the submission: price versions are never changed or removed.
   * @param isReported whether the provider has reported the seconds of the usage
   */
  private async costOf(job: MediaJob, usage: UsageVector, isReported: boolean): Promise<bigint> {
    const { id, priceVersionId, settings } = job;
    const price = priceVersionId === null ? null : await this.priceOf(priceVersionId);
    const cost = price === null ? null : jobUsageCostMicro(price, settings, usage);
    if (price === null || cost === null) throw new Error(`The price of job ${id} is missing`);
    const estimateMicro = jobCostMicro(price, settings, settings.durationSeconds);
    const isBilled = isReported || price.isBilledBy(usage);
    if (isBilled && estimateMicro !== null && differsFromList(cost, estimateMicro)) {
      this.noteBill(job, usage, cost, estimateMicro);
    }
    return cost;
  }

  private async priceOf(versionId: string): Promise<CompiledPrice | null> {
    const known = this.compiled.get(versionId);
    if (known !== undefined) return known;
    const stored = await this.prices.findPrice(versionId);
    if (stored === null) return null;
    const price = compilePrice(stored);
    if (this.compiled.size >= MAX_COMPILED) this.compiled.clear();
    this.compiled.set(versionId, price);
    return price;
  }

  private noteBill(
    { id, model, deploymentId }: MediaJob,
    usage: UsageVector,
    billedMicro: Micro,
    estimateMicro: Micro,
  ) {
    this.logger.warn({
      message: "a vendor's bill differs from the estimate of the job",
      event: 'vendor_bill_differs',
      job_id: id,
      model,
      deployment: deploymentId,
      billed_micro: microToJson(billedMicro),
      estimated_micro: microToJson(estimateMicro),
      seconds: usage.seconds,
      bill: vendorBillOf(usage),
    });
  }
}

/** The seconds that the provider bills; otherwise those of its files, each limited to the requested duration. */
function usageOf(job: MediaJob, reported: UsageVector | null, artifacts: readonly NewArtifact[]): UsageVector {
  const usage = reported === null ? NO_USAGE : sanitizeUsage(reported);
  if (usage.seconds > 0) return usage;
  const seconds = artifacts.map(({ durationSeconds }) => Math.min(durationSeconds, job.settings.durationSeconds));
  return { ...usage, seconds: seconds.reduce((sum, each) => sum + each, 0) };
}
