import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { FairConcurrencyLimiter } from '../../core/concurrency/fair-concurrency-limiter';
import { InFlight } from '../../core/concurrency/in-flight';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { RepeatGuard } from '../../core/observability/repeat-guard';
import { leaseOwner } from '../../core/scheduling/task-lease';
import { Tracing } from '../../core/observability/traces/tracing';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { needsInputs, poolOf, type JobPool } from '../job-lane';
import { JobRemoval } from '../job-removal';
import { JobWorkRepository } from '../job-work.repository';
import type { RequestTrace } from '../../core/types/trace';
import type { DueJob, DuePoll, JobKey, MediaJob, PolledJob } from '../media-job.types';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';
import { InputStep } from './input-step';
import { LeaseKeeper } from './job-lease';
import { PollStep } from './poll-step';
import { PendingPoll } from './pending-poll';
import { SubmitStep } from './submit-step';
import { type NextStep, type JobLease, reschedule } from './job-lease';
import { UpcomingPolls } from './upcoming-polls';

type Step = 'inputs' | 'submit' | 'poll';

/** `not-claimed`: nothing was done, because the row has changed or another worker holds the job. */
export type StepEnd = NextStep | 'not-claimed';

/**
 * Runs job steps in this process: claims a job, runs its due step, writes the result under the fence and releases the
 * lease. If the process dies during a step, the job's row says where the next step starts.
 */
@Injectable()
export class JobRunner {
  private readonly logger = new Logger(JobRunner.name);
  private readonly owner = leaseOwner();
  /** Separate pools, so that unresponsive image hosts take no provider slots. */
  private readonly slots: Readonly<Record<JobPool, FairConcurrencyLimiter>>;
  private readonly leaseSeconds: number;
  private readonly upcoming: UpcomingPolls;
  private readonly repeats: RepeatGuard;
  private readonly runningIds = new Set<string>();
  private readonly running = new InFlight();
  private readonly stopping = new AbortController();
  private taking = true;

  constructor(
    private readonly work: JobWorkRepository,
    private readonly fetching: InputStep,
    private readonly submitting: SubmitStep,
    private readonly polling: PollStep,
    private readonly removal: JobRemoval,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) { worker }: Pick<AppConfig, 'worker'>,
    @Inject(JOB_WORKER_OPTIONS) private readonly options: JobWorkerOptions,
    private readonly metrics: Metrics,
    @Inject(Tracing) private readonly tracing: Pick<Tracing, 'follow'>,
  ) {
    this.slots = {
      inputs: new FairConcurrencyLimiter(worker.concurrency),
      providers: new FairConcurrencyLimiter(worker.concurrency),
    };
    this.leaseSeconds = worker.leaseSeconds;
    this.upcoming = new UpcomingPolls(clock);
    this.repeats = new RepeatGuard(clock);
  }

  /** Free slots of a pool; lanes may limit further. */
  free(pool: JobPool): number {
    return this.taking ? this.slots[pool].free : 0;
  }

  fullLanes(pool: JobPool): string[] {
    return this.slots[pool].fullLanes();
  }

  /** The due poll of a job that this process was the last to submit or poll, for {@link begin}. */
  takeUpcomingPoll(id: string): DuePoll | null {
    return this.upcoming.take(id);
  }

  /** Resolves when {@link begin} can succeed, or after `timeoutMs`. */
  async waitForSlot({ lane }: DueJob, timeoutMs: number): Promise<void> {
    if (this.taking) await this.slots[poolOf(lane)].waitForSlot(lane, timeoutMs);
  }

  /**
   * Runs a step and resolves when it ends; never rejects. `null`: there is no free slot, or a step of this job is
   * running.
   */
  begin(due: DueJob | DuePoll): Promise<StepEnd> | null {
    if (!this.taking || this.runningIds.has(due.id) || !this.slots[poolOf(due.lane)].enter(due.lane)) return null;
    return this.runStep(due);
  }

  /**
   * Starts no more steps and waits for those under way. After `timeoutMs` it aborts the steps that another process can
   * repeat, and waits briefly for them.
   */
  async stop(timeoutMs: number): Promise<void> {
    this.taking = false;
    for (const slots of Object.values(this.slots)) slots.wakeAll();
    if (await this.running.whenIdle(timeoutMs)) return;
    this.stopping.abort(new Error('the process is shutting down'));
    await this.running.whenIdle(this.options.retryMs);
  }

  private async runStep(due: DueJob | DuePoll): Promise<StepEnd> {
    this.runningIds.add(due.id);
    this.running.begin();
    try {
      return await ('job' in due ? this.poll(due) : this.claimAndRun(due));
    } catch (error) {
      this.logger.error({ message: 'a job step failed', event: 'job_step_failed', job_id: due.id, err: error });
      return null;
    } finally {
      this.runningIds.delete(due.id);
      this.slots[poolOf(due.lane)].leave(due.lane);
      this.running.end();
    }
  }

  /** A poll claims its job only if the job is no longer just running, or if the poll takes long. */
  private async poll(due: DuePoll): Promise<StepEnd> {
    const trace = this.traceOf('poll', due.job);
    let polled: NextStep | 'not-claimed' | PendingPoll;
    try {
      polled = await this.polling.pollUnclaimed(due, this.stopping.signal);
    } catch (error) {
      this.end('poll', trace, true);
      this.reportRetry(due, error);
      return { inMs: this.options.repairMs, version: due.version };
    }
    if (polled instanceof PendingPoll) return this.claimAndRun(due, { poll: polled, trace });
    this.end('poll', trace, false);
    if (polled !== null && polled !== 'not-claimed') this.notePoll({ ...due.job, polls: due.job.polls + 1 }, polled);
    return polled;
  }

  /** @param begun a poll of the job that has started and now needs the claim */
  private async claimAndRun(due: DueJob, begun?: { poll: PendingPoll; trace: RequestTrace | null }): Promise<StepEnd> {
    const job = await this.work.claim(due, this.owner, this.leaseSeconds);
    if (job === null) {
      begun?.poll.stop(new Error('the job has changed'));
      begun?.trace?.close(this.clock.monotonic(), {}, false);
      return 'not-claimed';
    }
    const keeper = new LeaseKeeper(this.work, job, this.leaseSeconds, this.clock);
    const stopRequested = AbortSignal.any([keeper.lost, this.stopping.signal]);
    const step = needsInputs(job) ? 'inputs' : job.handle === null ? 'submit' : 'poll';
    const trace = begun === undefined ? this.traceOf(step, job) : begun.trace;
    trace?.set({ 'gateway.fence': job.fence });
    let isFailed = false;
    try {
      const next = await this.step({ job, trace, leaseLost: keeper.lost, stopRequested }, begun?.poll);
      if (next === null) await this.removal.discardLateObjects(job);
      else if (next.accepted !== undefined) this.notePoll(next.accepted, next);
      else if (job.handle !== null) this.notePoll({ ...job, handle: job.handle, polls: job.polls + 1 }, next);
      return next;
    } catch (error) {
      isFailed = true;
      return await this.rescheduleFailed(job, error);
    } finally {
      keeper.end();
      this.end(step, trace, isFailed);
    }
  }

  private traceOf(step: Step, job: PolledJob | MediaJob): RequestTrace | null {
    const trace = this.tracing.follow(`job ${step}`, 'internal', job.traceParent, this.clock.monotonic());
    trace?.set({ 'gateway.job_id': job.id, 'gateway.kind': job.kind });
    return trace;
  }

  private end(step: Step, trace: RequestTrace | null, isFailed: boolean): void {
    this.metrics.jobSteps.of(step, isFailed ? 'failed' : 'ok').inc();
    trace?.close(this.clock.monotonic(), isFailed ? { 'error.type': 'internal_error' } : {}, isFailed);
  }

  private notePoll(job: PolledJob, { inMs, version }: NonNullable<NextStep>): void {
    const { organizationId, id, kind, model, provider, deploymentId, submissions, polls, traceParent, handle } = job;
    const key = { organizationId, id };
    // Without the prompt and the other columns of the row.
    const next = { ...key, kind, model, provider, deploymentId, submissions, polls, traceParent, handle };
    this.upcoming.note({ ...key, version, lane: deploymentId ?? '', job: next }, inMs);
  }

  private step(lease: JobLease, started?: PendingPoll): Promise<NextStep> {
    const { job } = lease;
    if (needsInputs(job)) return this.fetching.storeInputs(lease);
    return job.handle === null ? this.submitting.submitJob(lease) : this.polling.pollJob(lease, job.handle, started);
  }

  /** Called after an internal failure. If this write fails too, the lease expires. */
  private async rescheduleFailed(job: MediaJob, error: unknown): Promise<NextStep> {
    this.reportRetry(job, error);
    const inMs = this.stopping.signal.aborted ? 0 : this.options.repairMs;
    return reschedule(this.work, job, inMs);
  }

  private reportRetry({ id }: JobKey, error: unknown): void {
    if (this.stopping.signal.aborted || !this.repeats.admit(id, String(error))) return;
    const facts = { event: 'job_step_retried', job_id: id, err: error };
    this.logger.error({ message: 'a job step failed and will be retried', ...facts });
  }
}
