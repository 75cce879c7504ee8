import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import type { AsyncJobAdapter, JobHandle, JobSnapshot } from '../../providers/contract/media-job';
import type { ProviderError } from '../../providers/contract/provider-error';
import { JobWorkRepository } from '../job-work.repository';
import type { DuePoll, MediaJob, PolledJob } from '../media-job.types';
import { FinalizeStep, type Success } from './finalize-step';
import { withTimeLimit } from './time-limit';
import { JobEndings } from './job-endings';
import {
  JOB_UNKNOWN_TO_PROVIDER,
  NO_RESULT,
  isGone,
  isTooLong,
  isWithoutResult,
  toJobError,
  TOO_LARGE,
  toProviderError,
} from './job-failure';
import { deadlinesOf, type JobTarget, JobTargets, toCall } from './job-targets';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';
import { pollPauseMs, repairPauseMs } from './pauses';
import { PendingPoll } from './pending-poll';
import { type NextStep, nextStep, type JobLease, reschedule } from './job-lease';

/** How many consecutive polls must find no job or no result before a job may fail. */
const SETBACKS = 3;
/** Pause before retrying a job whose provider is not configured in this process. */
const UNKNOWN_PROVIDER_RETRY_MS = 30_000;

/**
 * Polls the provider of an accepted job. Only a definite response ends the job: timeouts, connection failures and 5xx
 * never do, however long they last.
 */
@Injectable()
export class PollStep {
  private readonly logger = new Logger(PollStep.name);
  private readonly connectTimeoutMs: number;

  constructor(
    private readonly work: JobWorkRepository,
    private readonly targets: JobTargets,
    private readonly finalize: FinalizeStep,
    private readonly endings: JobEndings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { inference }: Pick<AppConfig, 'inference'>,
    @Inject(JOB_WORKER_OPTIONS) private readonly options: JobWorkerOptions,
  ) {
    this.connectTimeoutMs = inference.connectTimeoutMs;
  }

  /**
   * Polls the provider without a claim and records, in one statement, that the job is still running, the usual result.
   * Any other response, or one that takes too long, is left to {@link pollJob} after a claim.
   */
  async pollUnclaimed(due: DuePoll, stopRequested: AbortSignal): Promise<NextStep | 'not-claimed' | PendingPoll> {
    const { job, version } = due;
    const target = this.targets.find(job);
    const adapter = target?.adapter;
    if (target === null || adapter?.mode !== 'async') return 'not-claimed';
    const poll = this.startPoll(job, job.handle, target, adapter, stopRequested);
    const answer = await poll.answerWithin(this.options.claimPollAfterMs);
    if (stopRequested.aborted) return { inMs: 0, version };
    const snapshot = answer?.snapshot;
    if (snapshot?.state !== 'queued' && snapshot?.state !== 'running') return poll;
    const { findings, inMs } = scheduleAfter(snapshot, job, adapter);
    const recorded = await this.work.recordUnclaimedPoll(due, findings, inMs);
    return recorded === null ? 'not-claimed' : nextStep(recorded, inMs);
  }

  /** @param started a poll of this job that has already started */
  async pollJob(lease: JobLease, handle: JobHandle, started?: PendingPoll): Promise<NextStep> {
    const { job, stopRequested } = lease;
    const target = this.targets.find(job);
    const adapter = target?.adapter;
    if (target === null || adapter?.mode !== 'async') {
      this.logger.warn({
        message: 'the provider of a job is not configured',
        event: 'job_provider_not_configured',
        job_id: job.id,
      });
      return reschedule(this.work, job, UNKNOWN_PROVIDER_RETRY_MS);
    }
    lease.trace?.set({ 'gateway.provider': job.provider ?? undefined });
    const poll = started ?? this.startPoll(job, handle, target, adapter, stopRequested);
    const { snapshot, error } = await poll.answerUnless(stopRequested);
    if (snapshot !== undefined) return this.handleSnapshot(lease, target, adapter, snapshot);
    if (stopRequested.aborted) return reschedule(this.work, job, 0);
    const failure = toProviderError(error);
    lease.trace?.set({ 'error.type': failure.code });
    return this.unanswered(job, adapter, failure);
  }

  private startPoll(
    job: Pick<MediaJob, keyof PolledJob>,
    handle: JobHandle,
    target: JobTarget,
    adapter: AsyncJobAdapter,
    stopRequested: AbortSignal,
  ): PendingPoll {
    const { pollTimeoutMs } = this.options;
    const deadlines = deadlinesOf(pollTimeoutMs, this.connectTimeoutMs);
    return new PendingPoll(stopRequested, (stop) =>
      withTimeLimit(pollTimeoutMs, stop, (signal) => adapter.poll(handle, toCall(job, target, deadlines, signal))),
    );
  }

  private async handleSnapshot(
    lease: JobLease,
    target: JobTarget,
    adapter: AsyncJobAdapter,
    snapshot: JobSnapshot,
  ): Promise<NextStep> {
    const { job } = lease;
    switch (snapshot.state) {
      case 'queued':
      case 'running': {
        const { findings, inMs } = scheduleAfter(snapshot, job, adapter);
        return nextStep(await this.work.recordPoll(job, findings, inMs), inMs);
      }
      case 'succeeded':
        return this.succeeded(lease, target, adapter, snapshot);
      default:
        await this.endFailed(job, snapshot.error);
        return null;
    }
  }

  private endFailed(job: MediaJob, error: ProviderError): Promise<void> {
    if (isWithoutResult(error)) return this.endings.failWithoutResult(job, NO_RESULT, error);
    return this.endings.fail(job, toJobError(error), error);
  }

  private async succeeded(
    lease: JobLease,
    target: JobTarget,
    adapter: AsyncJobAdapter,
    success: Success,
  ): Promise<NextStep> {
    const { job, stopRequested } = lease;
    const { artifactTimeoutMs } = this.options;
    const call = {
      ...toCall(job, target, deadlinesOf(artifactTimeoutMs, this.connectTimeoutMs), stopRequested),
      ...(success.keyId !== undefined && { keyId: success.keyId }),
    };
    const finalized = await this.finalize.finalizeJob(lease, success, { adapter, call });
    if (finalized === 'ended') return null;
    if (stopRequested.aborted) return reschedule(this.work, job, 0);
    const sinceFirstMs = job.finalizingAt === null ? 0 : this.clock.now() - job.finalizingAt.getTime();
    const isExpired = sinceFirstMs >= adapter.capabilities.outputTtlSeconds * 1_000;
    if (finalized === 'no-result' || (finalized === 'unreachable' && isExpired)) {
      return this.setback(job, adapter, () => this.endings.failWithoutResult(job));
    }
    return reschedule(this.work, job, repairPauseMs(this.options.repairMs, sinceFirstMs));
  }

  private unanswered(job: MediaJob, adapter: AsyncJobAdapter, error: ProviderError): Promise<NextStep> {
    const { id, provider, polls } = job;
    const { phase, upstream, retryAfterSeconds } = error.options;
    const facts = { job_id: id, provider, polls, code: error.code, phase, upstream };
    this.logger.warn({ message: 'polling a job failed', event: 'provider_poll_failed', ...facts });
    if (isGone(error)) {
      return this.setback(job, adapter, () => this.endings.failWithoutResult(job, JOB_UNKNOWN_TO_PROVIDER, error));
    }
    if (isTooLong(error)) return this.setback(job, adapter, () => this.endings.fail(job, TOO_LARGE, error));
    const askedMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000;
    return reschedule(this.work, job, pollPauseMs(adapter.capabilities, polls, askedMs));
  }

  /** Counts a possibly transient failure; fails the job after {@link SETBACKS} in a row over `setbackMs`. */
  private async setback(job: MediaJob, adapter: AsyncJobAdapter, fail: () => Promise<void>): Promise<NextStep> {
    const { setbacks, setbackSince } = job;
    const sinceMs = setbackSince === null ? 0 : this.clock.now() - setbackSince.getTime();
    if (setbacks + 1 >= SETBACKS && sinceMs >= this.options.setbackMs) {
      await fail();
      return null;
    }
    const inMs = pollPauseMs(adapter.capabilities, job.polls);
    return nextStep(await this.work.recordSetback(job, inMs), inMs);
  }
}

/** The values to record for a job that is still running, and when to poll again. */
function scheduleAfter(
  { state, progress, retryAfterMs }: Extract<JobSnapshot, { readonly state: 'queued' | 'running' }>,
  { polls }: Pick<MediaJob, 'polls'>,
  { capabilities }: AsyncJobAdapter,
) {
  return {
    findings: { isRunning: state === 'running', progress },
    inMs: pollPauseMs(capabilities, polls, retryAfterMs),
  };
}
