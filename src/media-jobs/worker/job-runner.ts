import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../../core/time/clock';
import { FairConcurrencyLimiter } from '../../core/concurrency/fair-concurrency-limiter';
import { InFlight } from '../../core/concurrency/in-flight';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { leaseOwner } from '../../core/scheduling/task-lease';
import { Tracing } from '../../core/observability/traces/tracing';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { needsInputs, poolOf, type JobPool } from '../job-lane';
import { JobRemoval } from '../job-removal';
import { JobWorkRepository } from '../job-work.repository';
import type { DueJob, MediaJob } from '../media-job.types';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';
import { InputStep } from './input-step';
import { LeaseKeeper } from './job-lease';
import { PollStep } from './poll-step';
import { SubmitStep } from './submit-step';
import { type NextStep, type JobLease, reschedule } from './job-lease';
import { UpcomingPolls } from './upcoming-polls';

/** `not-claimed`: nothing has been done, since the row has changed or another worker holds the job. */
export type StepEnd = NextStep | 'not-claimed';

/**
 * Runs job steps in this process: claims a job, runs its due step, writes the result under the fence and releases the
 * lease. If a step dies, the job's row says where the next one starts.
 */
@Injectable()
export class JobRunner {
  private readonly logger = new Logger(JobRunner.name);
  private readonly owner = leaseOwner();
  /** Separate pools, so that hanging image hosts take no provider slots. */
  private readonly slots: Readonly<Record<JobPool, FairConcurrencyLimiter>>;
  private readonly leaseSeconds: number;
  private readonly upcoming: UpcomingPolls;
  private readonly underWay = new Set<string>();
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
  }

  /** Free slots of a pool; lanes may limit further. */
  free(pool: JobPool): number {
    return this.taking ? this.slots[pool].free : 0;
  }

  fullLanes(pool: JobPool): string[] {
    return this.slots[pool].fullLanes();
  }

  /** The due poll of a job that this process polled last, which {@link begin} can claim unless its row has changed. */
  takeUpcomingPoll(id: string): DueJob | null {
    return this.upcoming.take(id);
  }

  /** Resolves when {@link begin} can succeed, or after `timeoutMs`. */
  async waitForSlot({ lane }: DueJob, timeoutMs: number): Promise<void> {
    if (this.taking) await this.slots[poolOf(lane)].waitForSlot(lane, timeoutMs);
  }

  /** Runs a step and resolves at its end; never rejects. `null`: no free slot, or a step of this job is under way. */
  begin(due: DueJob): Promise<StepEnd> | null {
    if (!this.taking || this.underWay.has(due.id) || !this.slots[poolOf(due.lane)].enter(due.lane)) return null;
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

  private async runStep(due: DueJob): Promise<StepEnd> {
    this.underWay.add(due.id);
    this.running.begin();
    try {
      return await this.claimAndRun(due);
    } catch (error) {
      this.logger.error({ message: 'a job step failed', event: 'job_step_failed', job_id: due.id, err: error });
      return null;
    } finally {
      this.underWay.delete(due.id);
      this.slots[poolOf(due.lane)].leave(due.lane);
      this.running.end();
    }
  }

  private async claimAndRun(due: DueJob): Promise<StepEnd> {
    const job = await this.work.claim(due, this.owner, this.leaseSeconds);
    if (job === null) return 'not-claimed';
    const keeper = new LeaseKeeper(this.work, job, this.leaseSeconds, this.clock);
    const stopRequested = AbortSignal.any([keeper.lost, this.stopping.signal]);
    const step = needsInputs(job) ? 'inputs' : job.handle === null ? 'submit' : 'poll';
    const trace = this.tracing.follow(`job ${step}`, 'internal', job.traceParent, this.clock.monotonic());
    trace?.set({ 'gateway.job_id': job.id, 'gateway.kind': job.kind, 'gateway.fence': job.fence });
    let isFailed = false;
    try {
      const next = await this.step({ job, trace, leaseLost: keeper.lost, stopRequested });
      this.metrics.jobSteps.of(step, 'ok').inc();
      if (next === null) await this.removal.discardLateObjects(job);
      else if (step === 'poll') this.upcoming.note(job, next);
      return next;
    } catch (error) {
      isFailed = true;
      this.metrics.jobSteps.of(step, 'failed').inc();
      return await this.rescheduleFailed(job, error);
    } finally {
      keeper.end();
      trace?.close(this.clock.monotonic(), isFailed ? { 'error.type': 'internal_error' } : {}, isFailed);
    }
  }

  private step(lease: JobLease): Promise<NextStep> {
    const { job } = lease;
    if (needsInputs(job)) return this.fetching.storeInputs(lease);
    return job.handle === null ? this.submitting.submitJob(lease) : this.polling.pollJob(lease, job.handle);
  }

  /** After an internal failure. If this write fails too, the lease expires. */
  private async rescheduleFailed(job: MediaJob, error: unknown): Promise<NextStep> {
    if (!this.stopping.signal.aborted) {
      this.logger.error({
        message: 'a job step failed and will be retried',
        event: 'job_step_retried',
        job_id: job.id,
        err: error,
      });
    }
    const inMs = this.stopping.signal.aborted ? 0 : this.options.repairMs;
    return reschedule(this.work, job, inMs);
  }
}
