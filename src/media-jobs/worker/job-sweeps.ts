import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { PeriodicTask } from '../../core/time/periodic-task';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { WakeUpQueue } from '../../core/queue/wake-up-queue';
import type { JobPool } from '../job-lane';
import { JobRemoval } from '../job-removal';
import { type DueCancellation, MediaJobRepository } from '../media-job.repository';
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
 * processes may sweep: each job is claimed once.
 */
@Injectable()
export class JobSweeps {
  private readonly logger = new Logger(JobSweeps.name);
  private readonly tasks: readonly PeriodicTask[];
  private readonly providerTasks: readonly PeriodicTask[];
  private readonly connectTimeoutMs: number;
  private readonly retentionHours: number;
  private stopped = false;

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly runner: JobRunner,
    private readonly endings: JobEndings,
    private readonly targets: JobTargets,
    private readonly removal: JobRemoval,
    private readonly wakeUps: WakeUpQueue,
    @Inject(APP_CONFIG) { inference, storage }: Pick<AppConfig, 'inference' | 'storage'>,
    @Inject(JOB_WORKER_OPTIONS) private readonly options: JobWorkerOptions,
  ) {
    this.connectTimeoutMs = inference.connectTimeoutMs;
    this.retentionHours = Math.min(storage.retentionHours.video, storage.retentionHours.music);
    const { sweepMs, unwokenSweepMs, cancelSweepMs, removalSweepMs } = options;
    const dueMs = (): number => (wakeUps.isReachable ? sweepMs : unwokenSweepMs);
    this.providerTasks = [
      this.task('due jobs', dueMs, () => this.workOnDue('providers')),
      this.task('jobs waiting for images', dueMs, () => this.workOnDue('inputs')),
      this.task(
        'canceled jobs',
        () => cancelSweepMs,
        () => this.cancelDue(),
      ),
    ];
    this.tasks = [
      this.task(
        'deleted jobs',
        () => removalSweepMs,
        () => this.removeDeleted(),
      ),
      this.task(
        'expired results',
        () => removalSweepMs,
        () => this.removeLost(),
      ),
    ];
  }

  /** @param hasProviders whether this process has a job provider; without one, it only removes deleted and lost rows */
  start(hasProviders: boolean): void {
    this.stopped = false;
    for (const task of hasProviders ? [...this.tasks, ...this.providerTasks] : this.tasks) void task.start();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all([...this.tasks, ...this.providerTasks].map((task) => task.stop()));
  }

  /** Starts steps while there are due jobs and free slots, and waits for any of them to end. */
  private async workOnDue(pool: JobPool): Promise<void> {
    for (let limit = this.runner.free(pool); !this.stopped && limit > 0; limit = this.runner.free(pool)) {
      const graceSeconds = this.wakeUps.isReachable ? undefined : 0;
      const due = await this.jobs.findDue(limit, graceSeconds, pool, this.runner.fullLanes(pool));
      const begun = due.flatMap((job) => this.runner.begin(job) ?? []);
      if (begun.length === 0 || due.length < limit) return;
      // Some lanes were full, and jobs of other lanes may follow: query again without the full lanes.
      if (begun.length < limit) continue;
      await Promise.race([...begun, delay(this.options.unwokenSweepMs, undefined, { ref: false })]);
    }
  }

  private async cancelDue(): Promise<void> {
    const due = await this.jobs.claimCancellations(CANCELLATIONS);
    await Promise.all(due.map((each) => this.cancelAtProvider(each)));
  }

  /** The response does not change the job; without a response the cancellation is sent again. */
  private async cancelAtProvider({ job, handle }: DueCancellation): Promise<void> {
    const target = this.targets.find(job);
    const adapter = target?.adapter;
    if (target === null || adapter?.mode !== 'async' || adapter.cancel === undefined) {
      await this.jobs.endCancellation(job.id);
      return;
    }
    const { pollTimeoutMs } = this.options;
    const deadlines = deadlinesOf(pollTimeoutMs, this.connectTimeoutMs);
    try {
      const answer = await withTimeLimit(pollTimeoutMs, null, async (signal) =>
        adapter.cancel?.(handle, toCall(job, target, deadlines, signal)),
      );
      if (answer === 'too-late') await this.endings.noteLateSuccess(job);
      await this.jobs.endCancellation(job.id);
    } catch (error) {
      this.logger.warn({
        message: 'failed to cancel a job at its provider',
        event: 'provider_cancel_failed',
        jobId: job.id,
        err: error,
      });
    }
  }

  private async removeDeleted(): Promise<void> {
    for (const job of await this.jobs.findDeleted(BATCH)) {
      if (this.stopped) return;
      await this.removal.remove(job);
    }
  }

  private async removeLost(): Promise<void> {
    for (let more = true; more && !this.stopped;) {
      more = (await this.jobs.removeLostArtifacts(this.retentionHours, BATCH)) === BATCH;
    }
  }

  private task(what: string, pauseMs: () => number, run: () => Promise<void>): PeriodicTask {
    const onError = (error: unknown): void =>
      this.logger.warn({ message: `failed to sweep ${what}`, event: 'job_sweep_failed', err: error });
    return new PeriodicTask({ run, pauseMs, onError });
  }
}
