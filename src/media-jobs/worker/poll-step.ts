import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../../common/clock';
import { APP_CONFIG, type AppConfig } from '../../config/app-config';
import type { AsyncJobAdapter, JobHandle, JobSnapshot } from '../../providers/contract/media-job';
import type { ProviderError } from '../../providers/contract/provider-error';
import { JobWorkRepository } from '../job-work.repository';
import type { JobError, MediaJob } from '../media-job.types';
import { FinalizeStep, type Success } from './finalize-step';
import { inLimits } from './in-limits';
import { JobEndings } from './job-endings';
import { FORGOTTEN, isGone, NO_RESULT, toJobError, toProviderError } from './job-failure';
import { deadlinesOf, type JobTarget, JobTargets, toCall } from './job-targets';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';
import { pollPauseMs } from './pauses';
import { laneOf, type NextTurn, nextTurn, type Turn } from './turn';

/** So often in a row a provider may not know a job, or not have its result, before the time of that counts. */
const SETBACKS = 3;
/** Before a job is looked at again whose provider this process does not know. */
const STRANGER_PAUSE_MS = 30_000;

/**
 * Asks a provider about a job that it has accepted. Only its own word ends the job: silence, failures of the connection
 * and of the server say nothing about it, however long they last.
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

  async run(turn: Turn, handle: JobHandle): Promise<NextTurn> {
    const { job, given } = turn;
    const target = this.targets.find(job);
    const adapter = target?.adapter;
    if (target === null || adapter?.mode !== 'async') {
      this.logger.warn({ message: 'a job is at a provider that is not configured here', jobId: job.id });
      return nextTurn(await this.work.reschedule(job, STRANGER_PAUSE_MS), STRANGER_PAUSE_MS, laneOf(job));
    }
    const { pollTimeoutMs } = this.options;
    const call = toCall(job, target, deadlinesOf(pollTimeoutMs, this.connectTimeoutMs), given);
    let snapshot: JobSnapshot;
    try {
      snapshot = await inLimits(pollTimeoutMs, given, (signal) => adapter.poll(handle, { ...call, signal }));
    } catch (error) {
      if (given.aborted) return this.again(job, 0);
      return this.unanswered(job, adapter, toProviderError(error));
    }
    return this.heard(turn, target, adapter, snapshot);
  }

  private async heard(
    turn: Turn,
    target: JobTarget,
    adapter: AsyncJobAdapter,
    snapshot: JobSnapshot,
  ): Promise<NextTurn> {
    const { job } = turn;
    switch (snapshot.state) {
      case 'queued':
      case 'running': {
        const inMs = pollPauseMs(adapter.capabilities, job.polls, snapshot.retryAfterMs);
        const findings = { isRunning: snapshot.state === 'running', progress: snapshot.progress };
        return nextTurn(await this.work.recordPoll(job, findings, inMs), inMs, laneOf(job));
      }
      case 'succeeded':
        return this.succeeded(turn, target, adapter, snapshot);
      default:
        await this.endings.fail(job, toJobError(snapshot.error), snapshot.error);
        return null;
    }
  }

  private async succeeded(
    turn: Turn,
    target: JobTarget,
    adapter: AsyncJobAdapter,
    success: Success,
  ): Promise<NextTurn> {
    const { job, given } = turn;
    const { artifactTimeoutMs } = this.options;
    const call = toCall(job, target, deadlinesOf(artifactTimeoutMs, this.connectTimeoutMs), given);
    const finalized = await this.finalize.run(turn, success, { adapter, call });
    if (finalized === 'ended') return null;
    if (given.aborted) return this.again(job, 0);
    if (finalized === 'no-result') return this.setback(job, adapter, NO_RESULT);
    return this.again(job, this.options.repairMs);
  }

  private unanswered(job: MediaJob, adapter: AsyncJobAdapter, error: ProviderError): Promise<NextTurn> {
    const { id, provider, polls } = job;
    const { phase, upstream, retryAfterSeconds } = error.options;
    const facts = { jobId: id, provider, polls, code: error.code, phase, upstream };
    this.logger.warn({ message: 'a provider did not answer about a job', ...facts });
    if (isGone(error)) return this.setback(job, adapter, FORGOTTEN, error);
    const askedMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000;
    return this.again(job, pollPauseMs(adapter.capabilities, polls, askedMs));
  }

  /** What may pass, and ends the job when it has not after several times and a while. */
  private async setback(
    job: MediaJob,
    adapter: AsyncJobAdapter,
    verdict: JobError,
    cause?: unknown,
  ): Promise<NextTurn> {
    const { setbacks, setbackSince } = job;
    const sinceMs = setbackSince === null ? 0 : this.clock.now() - setbackSince.getTime();
    if (setbacks + 1 >= SETBACKS && sinceMs >= this.options.setbackMs) {
      await this.endings.fail(job, verdict, cause);
      return null;
    }
    const inMs = pollPauseMs(adapter.capabilities, job.polls);
    return nextTurn(await this.work.recordSetback(job, inMs), inMs, laneOf(job));
  }

  private async again(job: MediaJob, inMs: number): Promise<NextTurn> {
    return nextTurn(await this.work.reschedule(job, inMs), inMs, laneOf(job));
  }
}
