import { Inject, Injectable, Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { CLOCK, type Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { driverErrorOf, isPermanentDatabaseError } from '../../core/database/driver-error';
import { isUnsupported, mayFallBack, wasNotBegun } from '../../inference/attempt-policy';
import type { AsyncJobAdapter, JobHandle, JobSpec, SyncJobAdapter } from '../../providers/contract/media-job';
import type { ProviderError } from '../../providers/contract/provider-error';
import { JobInputs, readJobSpec } from '../job-inputs';
import { JobReportAddress } from '../job-report-address';
import { JobWorkRepository } from '../job-work.repository';
import { MediaJobRepository } from '../media-job.repository';
import type { MediaJob } from '../media-job.types';
import { type Finalized, FinalizeStep } from './finalize-step';
import { ImageMemory } from './image-memory';
import { withTimeLimit } from './time-limit';
import { JobEndings } from './job-endings';
import { NO_PROVIDER_ACCEPTED, toJobError, toProviderError, INVALID_PROVIDER_HANDLE } from './job-failure';
import { deadlinesOf, type SelectedDeployment, type JobTarget, JobTargets, toCall } from './job-targets';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';
import { noRoomPauseMs, pollPauseMs, submitPauseMs } from './pauses';
import { type NextStep, nextStep, type JobLease, reschedule } from './job-lease';

/** A job with the target and spec of its current submission. */
interface Sent {
  readonly lease: JobLease;
  readonly target: JobTarget;
  readonly spec: JobSpec;
}

/**
 * Submits a job to a provider, once. After a definite refusal another provider may be tried. After an unknown outcome
 * the job is submitted again only if the provider deduplicates submissions; otherwise it fails.
 */
@Injectable()
export class SubmitStep {
  private readonly logger = new Logger(SubmitStep.name);
  private readonly inference: AppConfig['inference'];

  constructor(
    private readonly work: JobWorkRepository,
    private readonly jobs: MediaJobRepository,
    private readonly targets: JobTargets,
    private readonly inputs: JobInputs,
    private readonly memory: ImageMemory,
    private readonly finalize: FinalizeStep,
    private readonly endings: JobEndings,
    private readonly reports: JobReportAddress,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { inference }: Pick<AppConfig, 'inference'>,
    @Inject(JOB_WORKER_OPTIONS) private readonly options: JobWorkerOptions,
  ) {
    this.inference = inference;
  }

  async submitJob(lease: JobLease): Promise<NextStep> {
    const { job } = lease;
    const claim = this.memory.claimForSubmission(job.organizationId, await this.inputs.storedBytes(job));
    if (claim === null) return reschedule(this.work, job, noRoomPauseMs());
    try {
      return await (job.submitStartedAt === null ? this.sendFirst(lease) : this.sendAgain(lease));
    } finally {
      claim.release();
    }
  }

  private async sendFirst(lease: JobLease): Promise<NextStep> {
    const spec = await this.readSpec(lease);
    if (spec === null) return null;
    const selected = await this.targets.choose(lease.job);
    if (selected === null) return this.waitForProvider(lease);
    const sent = await this.begin(lease, selected);
    if (sent === null) return null;
    const { adapter } = selected;
    if (adapter.mode === 'sync') return this.make({ lease: sent, target: selected, spec }, adapter, selected);
    return this.send({ lease: sent, target: selected, spec }, adapter, selected);
  }

  /** `null`: an image of the job is no longer stored, and the job has failed. */
  private async readSpec({ job, trace }: JobLease): Promise<JobSpec | null> {
    try {
      return await readJobSpec(job, this.inputs, trace);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.status >= 500) throw error;
      await this.endings.failInputs(job, error);
      return null;
    }
  }

  /** Commits the submission before the provider is called; otherwise abandons the call. `null`: the lease is lost. */
  private async begin(
    lease: JobLease,
    { adapter, candidate, deploymentCall }: SelectedDeployment,
  ): Promise<JobLease | null> {
    const { job } = lease;
    const place = {
      provider: candidate.provider.id,
      deploymentId: candidate.deployment.id,
      priceVersionId: candidate.priceVersion.id,
    };
    let token: string | null = null;
    try {
      const { submissionAccount: account } = adapter.capabilities;
      token = await this.work.beginSubmission(job, { ...place, mode: adapter.mode, account });
    } finally {
      if (token === null) deploymentCall.abandon();
    }
    if (token === null) return null;
    lease.trace?.set({ 'gateway.provider': place.provider, 'gateway.deployment': place.deploymentId });
    const submissionAccount = adapter.capabilities.submissionAccount ?? null;
    return {
      ...lease,
      job: { ...job, ...place, submissionAccount, providerToken: token, submissions: job.submissions + 1 },
    };
  }

  /** Handles an earlier submission whose outcome was not recorded. */
  private async sendAgain(lease: JobLease): Promise<NextStep> {
    const { job } = lease;
    const target = this.targets.find(job);
    const adapter = target?.adapter;
    if (target === null || adapter?.mode !== 'async' || !mayRepeat(job, adapter)) {
      await this.endings.failUnknown(job);
      return null;
    }
    const spec = await this.readSpec(lease);
    return spec === null ? null : this.send({ lease, target, spec }, adapter, null);
  }

  private async send(sent: Sent, adapter: AsyncJobAdapter, selected: SelectedDeployment | null): Promise<NextStep> {
    const { lease, target, spec } = sent;
    const { job } = lease;
    const { submitTimeoutMs } = this.options;
    const deadlines = deadlinesOf(submitTimeoutMs, this.inference.connectTimeoutMs);
    const token = job.providerToken ?? job.id;
    const callbackUrl = this.reports.of(token);
    let handle: JobHandle;
    try {
      // Only the time limit ends the call: an interrupted submission has an unknown outcome.
      handle = await withTimeLimit(submitTimeoutMs, null, (signal) =>
        adapter.submit(spec, token, { ...toCall(job, target, deadlines, signal), callbackUrl }),
      );
    } catch (error) {
      return this.refused(lease, adapter, selected, toProviderError(error));
    }
    selected?.deploymentCall.succeed(0);
    const inMs = pollPauseMs(adapter.capabilities, 0);
    const wakeUp = await this.persistHandle(lease, handle, inMs);
    if (wakeUp === null) await this.cancelAtProvider(lease, target, adapter, handle);
    return wakeUp === null ? null : { inMs, version: wakeUp.version, accepted: { ...job, handle } };
  }

  /**
   * Stores the handle, and retries while the database is unreachable. `null`: the job has ended. A handle that the
   * database rejects fails the job, since another submission would return the same one.
   */
  private async persistHandle({ job, stopRequested }: JobLease, handle: JobHandle, inMs: number) {
    for (;;) {
      try {
        return await this.work.storeHandle(job, handle, inMs);
      } catch (error) {
        if (isPermanent(error)) {
          await this.endings.fail(job, INVALID_PROVIDER_HANDLE, error);
          return null;
        }
        if (stopRequested.aborted) throw error;
        await delay(this.options.retryMs, undefined, { signal: stopRequested }).catch(() => undefined);
      }
    }
  }

  /**
   * Cancels a job that ended or changed owner while the provider was accepting it, unless its handle is recorded
   * elsewhere.
   */
  private async cancelAtProvider(
    { job }: JobLease,
    target: JobTarget,
    adapter: AsyncJobAdapter,
    handle: JobHandle,
  ): Promise<void> {
    if (adapter.cancel === undefined) return;
    const { pollTimeoutMs } = this.options;
    const deadlines = deadlinesOf(pollTimeoutMs, this.inference.connectTimeoutMs);
    try {
      if (await this.isHandleRecorded(job, adapter, handle)) return;
      await withTimeLimit(pollTimeoutMs, null, async (signal) =>
        adapter.cancel?.(handle, toCall(job, target, deadlines, signal)),
      );
    } catch (error) {
      const facts = { event: 'provider_cancel_failed', job_id: job.id, err: error };
      this.logger.warn({ message: 'failed to cancel a job at its provider', ...facts });
    }
  }

  /**
   * Whether the row has this handle, or will have it: a provider that deduplicates returns the same handle to the next
   * worker.
   */
  private async isHandleRecorded(job: MediaJob, adapter: AsyncJobAdapter, handle: JobHandle): Promise<boolean> {
    const current = await this.jobs.find(job.id, job.organizationId, job.kind);
    if (current === null) return false;
    if (current.handle !== null) return current.handle.id === handle.id;
    return mayRepeat(current, adapter) && current.completedAt === null;
  }

  /** Calls a synchronous provider and waits for the result. No other worker can take over the call. */
  private async make(sent: Sent, adapter: SyncJobAdapter, selected: SelectedDeployment): Promise<NextStep> {
    const { lease, target, spec } = sent;
    const { job, leaseLost } = lease;
    const { replyTimeoutMs, connectTimeoutMs } = this.inference;
    const call = toCall(job, target, deadlinesOf(replyTimeoutMs, connectTimeoutMs), leaseLost);
    let success;
    try {
      success = await withTimeLimit(replyTimeoutMs, leaseLost, (signal) => adapter.make(spec, { ...call, signal }));
    } catch (error) {
      if (!leaseLost.aborted) return this.refused(lease, adapter, selected, toProviderError(error));
      selected.deploymentCall.abandon();
      return null;
    }
    selected.deploymentCall.succeed(0);
    // Only this process has the result, so storing it is retried.
    for (let attempt = 0; !lease.stopRequested.aborted; attempt++) {
      const finalized = await this.finalize
        .finalizeJob(lease, success, { adapter, call })
        .catch((error: unknown) => this.withoutStorage(job, error));
      if (finalized === 'ended') return null;
      if (finalized === 'no-result' || finalized === 'unreachable') break;
      const pauseMs = submitPauseMs(attempt, undefined);
      await delay(pauseMs, undefined, { signal: lease.stopRequested }).catch(() => undefined);
    }
    if (!lease.stopRequested.aborted) await this.endings.failWithoutResult(job);
    return null;
  }

  /** The outcome of a transient database error, after which storing is retried. @throws any other error */
  private withoutStorage({ id: jobId }: MediaJob, error: unknown): Finalized {
    if (isPermanent(error)) throw error;
    this.logger.warn({ message: 'failed to end a job', event: 'job_end_failed', job_id: jobId, err: error });
    return 'no-storage';
  }

  private async refused(
    lease: JobLease,
    adapter: AsyncJobAdapter | SyncJobAdapter,
    selected: SelectedDeployment | null,
    error: ProviderError,
  ): Promise<NextStep> {
    const { job } = lease;
    conclude(selected, error);
    lease.trace?.set({ 'error.type': error.code });
    this.report(job, error);
    // The refusal of a repeated submission says nothing about the earlier one.
    const isRepetition = selected === null;
    if (!wasNotBegun(error) || (isRepetition && mayFallBack(error, true))) {
      return this.outcomeUnknown(lease, adapter, error);
    }
    if (!mayFallBack(error, true) || (isUnsupported(error) && job.submissions >= job.route.length)) {
      await this.endings.fail(job, toJobError(error), error);
      return null;
    }
    const isLast = this.targets.isLast(job);
    if (isLast && this.hasExceededMaxWait(job)) {
      await this.endings.fail(job, toJobError(error), error);
      return null;
    }
    const inMs = isLast ? submitPauseMs(job.submissions, error.options.retryAfterSeconds) : 0;
    return nextStep(await this.work.withdrawSubmission(job, inMs), inMs);
  }

  private async outcomeUnknown(
    lease: JobLease,
    adapter: AsyncJobAdapter | SyncJobAdapter,
    error: ProviderError,
  ): Promise<NextStep> {
    const { job } = lease;
    if (adapter.mode === 'sync') {
      await this.endings.fail(job, toJobError(error), error);
      return null;
    }
    if (!mayRepeat(job, adapter) || this.hasExceededMaxWait(job)) {
      await this.endings.failUnknown(job, error);
      return null;
    }
    const inMs = submitPauseMs(job.fence, error.options.retryAfterSeconds);
    return nextStep(await this.work.recordSetback(job, inMs), inMs);
  }

  /** Waits, because all deployments are unavailable, at capacity or no longer offered. */
  private async waitForProvider({ job }: JobLease): Promise<NextStep> {
    if (this.hasExceededMaxWait(job)) {
      await this.endings.fail(job, NO_PROVIDER_ACCEPTED);
      return null;
    }
    const inMs = submitPauseMs(job.fence, undefined);
    return nextStep(await this.work.recordSetback(job, inMs), inMs);
  }

  /** Counted from the first setback, not from the submission of the job, which may have waited for a worker. */
  private hasExceededMaxWait({ setbackSince }: MediaJob): boolean {
    return setbackSince !== null && this.clock.now() - setbackSince.getTime() >= this.options.maxWaitMs;
  }

  private report({ id, provider, deploymentId }: MediaJob, { code, options }: ProviderError): void {
    const { credentialRefused, phase, upstream } = options;
    const event = credentialRefused === true ? 'provider_credential_refused' : 'provider_submit_refused';
    const facts = { event, job_id: id, provider, deployment: deploymentId, code, phase, upstream };
    if (credentialRefused === true) this.logger.error({ message: 'a provider refused our credential', ...facts });
    else this.logger.warn({ message: 'a provider did not accept a job', ...facts });
  }
}

/** Whether a second submission returns the first one's job. The provider's keys may have changed since. */
function mayRepeat({ submissionAccount }: MediaJob, { capabilities }: AsyncJobAdapter): boolean {
  return capabilities.idempotentSubmit && (capabilities.submissionAccount ?? null) === submissionAccount;
}

function isPermanent(error: unknown): boolean {
  return isPermanentDatabaseError(driverErrorOf(error));
}

/** Reports the failure to the circuit breaker. Failures of a mock are requested by clients and do not count. */
function conclude(selected: SelectedDeployment | null, error: ProviderError): void {
  if (selected?.candidate.provider.simulated === true) selected.deploymentCall.abandon();
  else selected?.deploymentCall.fail(error);
}
