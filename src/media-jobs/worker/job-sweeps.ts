import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { CLOCK, type Clock } from '../../core/time/clock';
import { EVERY_2_SECONDS, EVERY_SECOND, logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import type { JobPool } from '../job-lane';
import { JobRemoval } from '../job-removal';
import { JobRoutes } from '../job-routes';
import { JobWakeUps } from '../job-wake-ups';
import { type DueCancellation, MediaJobRepository } from '../media-job.repository';
import type { DueJob } from '../media-job.types';
import { withTimeLimit } from './time-limit';
import { JobEndings } from './job-endings';
import { deadlinesOf, JobTargets, toCall } from './job-targets';
import { JobRunner } from './job-runner';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';

/** Rows per query. */
const BATCH = 100;
/** Concurrent cancellations. */
const CANCELLATIONS = 20;

/**
 * Sweeps the table for due work. With Redis it catches lost wake-ups; without Redis it drives all jobs. Any number of
 * processes may sweep, because each job is claimed once. A process without a job provider only removes deleted and lost
 * rows.
 */
@Injectable()
export class JobSweeps {
  private readonly logger = new Logger(JobSweeps.name);
  private readonly connectTimeoutMs: number;
  /** The shortest time that a result is kept. */
  private readonly resultRetentionHours: number;
  /** `null`: jobs are kept until a client deletes them. */
  private readonly jobRetentionHours: number | null;
  private readonly nextSweepAtMs: Record<JobPool, number> = { inputs: -Infinity, providers: -Infinity };
  private stopped = false;

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly runner: JobRunner,
    private readonly endings: JobEndings,
    private readonly targets: JobTargets,
    private readonly removal: JobRemoval,
    private readonly routes: JobRoutes,
    private readonly wakeUps: JobWakeUps,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG)
    { inference, storage, jobs: { retentionDays } }: Pick<AppConfig, 'inference' | 'storage' | 'jobs'>,
    @Inject(JOB_WORKER_OPTIONS) private readonly options: JobWorkerOptions,
  ) {
    this.connectTimeoutMs = inference.connectTimeoutMs;
    const { video, music } = storage.retentionHours;
    this.resultRetentionHours = Math.min(video, music);
    // A job is kept at least as long as its results.
    this.jobRetentionHours = retentionDays === 0 ? null : Math.max(retentionDays * 24, video, music);
  }

  /** Sweeps in progress end after their current row. */
  stop(): void {
    this.stopped = true;
  }

  @Cron(EVERY_SECOND, scheduled('media-jobs.due'))
  sweepDueJobs(): Promise<void> {
    return this.sweepWhenDue('providers');
  }

  /** Separate from {@link sweepDueJobs}, so that unresponsive image hosts do not delay it. */
  @Cron(EVERY_SECOND, scheduled('media-jobs.due-inputs'))
  sweepDueInputs(): Promise<void> {
    return this.sweepWhenDue('inputs');
  }

  @Cron(EVERY_2_SECONDS, scheduled('media-jobs.cancellations'))
  sweepCancellations(): Promise<void> {
    return this.sweep('canceled jobs', async () => {
      if (this.routes.hasProviders) await this.cancelDue();
    });
  }

  @Cron(CronExpression.EVERY_MINUTE, scheduled('media-jobs.deleted'))
  sweepDeleted(): Promise<void> {
    return this.sweep('deleted jobs', () => this.inBatches(() => this.removeDeleted()));
  }

  @Cron(CronExpression.EVERY_MINUTE, scheduled('media-jobs.expired-results'))
  sweepExpiredResults(): Promise<void> {
    return this.sweep('expired results', () =>
      this.inBatches(() => this.jobs.removeLostArtifacts(this.resultRetentionHours, BATCH)),
    );
  }

  @Cron(CronExpression.EVERY_HOUR, scheduled('media-jobs.retention'))
  async sweepPastRetention(): Promise<void> {
    const { jobRetentionHours } = this;
    if (jobRetentionHours === null) return;
    await this.sweep('jobs past their retention', () =>
      this.inBatches(() => this.jobs.markPastRetention(jobRetentionHours, BATCH)),
    );
  }

  /** Runs every second without Redis, otherwise every few seconds, since wake-ups are rarely lost. */
  private sweepWhenDue(pool: JobPool): Promise<void> {
    const nowMs = this.clock.monotonic();
    const isEarly = this.wakeUps.isReachable && nowMs < this.nextSweepAtMs[pool];
    if (isEarly || !this.routes.hasProviders) return Promise.resolve();
    this.nextSweepAtMs[pool] = nowMs + this.options.sweepMs;
    return this.sweep(pool === 'inputs' ? 'jobs waiting for images' : 'due jobs', () => this.workOnDue(pool));
  }

  private async sweep(what: string, run: () => Promise<void>): Promise<void> {
    if (this.stopped) return;
    await logFailure(this.logger, { event: 'job_sweep_failed', message: `failed to sweep ${what}` }, run);
  }

  /** Starts steps while there are due jobs and free slots, and waits for any step to end. */
  private async workOnDue(pool: JobPool): Promise<void> {
    for (let limit = this.runner.free(pool); !this.stopped && limit > 0; limit = this.runner.free(pool)) {
      const graceSeconds = this.wakeUps.isReachable ? undefined : 0;
      const due = await this.jobs.findDue(limit, graceSeconds, pool, this.runner.fullLanes(pool));
      const begun = due.flatMap((job) => this.beginStep(job) ?? []);
      if (begun.length === 0 || due.length < limit) return;
      // Some lanes were full, and jobs of other lanes may follow: query again without the full lanes.
      if (begun.length < limit) continue;
      await Promise.race([...begun, delay(this.options.retryMs, undefined, { ref: false })]);
    }
  }

  private beginStep(job: DueJob): Promise<void> | null {
    const step = this.runner.begin(job);
    return (
      step?.then((end) => (end === null || end === 'not-claimed' ? undefined : this.wakeUps.wake(job, end.inMs))) ??
      null
    );
  }

  private async cancelDue(): Promise<void> {
    const due = await this.jobs.claimCancellations(CANCELLATIONS);
    await Promise.all(due.map((each) => this.cancelAtProvider(each)));
  }

  /** The response does not change the job; if there is none, the cancellation is sent again. */
  private async cancelAtProvider({ job, handle }: DueCancellation): Promise<void> {
    const target = this.targets.find(job);
    const adapter = target?.adapter;
    if (target === null || adapter?.mode !== 'async' || adapter.cancel === undefined) {
      await this.jobs.endCancellation(job);
      return;
    }
    const { pollTimeoutMs } = this.options;
    const deadlines = deadlinesOf(pollTimeoutMs, this.connectTimeoutMs);
    try {
      const answer = await withTimeLimit(pollTimeoutMs, null, async (signal) =>
        adapter.cancel?.(handle, toCall(job, target, deadlines, signal)),
      );
      if (answer === 'too-late') await this.endings.noteLateSuccess(job);
      await this.jobs.endCancellation(job);
    } catch (error) {
      this.logger.warn({
        message: 'failed to cancel a job at its provider',
        event: 'provider_cancel_failed',
        job_id: job.id,
        err: error,
      });
    }
  }

  private async removeDeleted(): Promise<number> {
    let removed = 0;
    for (const job of await this.jobs.findDeleted(BATCH)) {
      if (this.stopped) break;
      if (await this.removal.remove(job)) removed++;
    }
    return removed;
  }

  /** Repeats `change`, which returns the number of its rows, until a batch is not full. */
  private async inBatches(change: () => Promise<number>): Promise<void> {
    while (!this.stopped && (await change()) === BATCH);
  }
}
