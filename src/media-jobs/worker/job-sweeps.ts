import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { PeriodicTask } from '../../common/periodic-task';
import { APP_CONFIG, type AppConfig } from '../../config/app-config';
import { WakeUpQueue } from '../../queue/wake-up-queue';
import { JobRemoval } from '../job-removal';
import { type DueCancellation, MediaJobRepository } from '../media-job.repository';
import type { MediaJob } from '../media-job.types';
import { inLimits } from './in-limits';
import { JobEndings } from './job-endings';
import { deadlinesOf, JobTargets, toCall } from './job-targets';
import { JobTurns } from './job-turns';
import { JOB_WORKER_OPTIONS, type JobWorkerOptions } from './job-worker-options';

/** Rows that one look takes. */
const BATCH = 100;
/** So many accounts that cannot be changed are no accident. */
const HELD_UP_ACCOUNTS = 5;
/** Providers that are told at once. */
const CANCELLATIONS = 20;

/**
 * Looks into the table for what nobody was woken for. With Redis these are the exceptions; without it this is what moves
 * jobs on. Any number of processes may look: each job is claimed, or ended, once.
 */
@Injectable()
export class JobSweeps {
  private readonly logger = new Logger(JobSweeps.name);
  private readonly tasks: readonly PeriodicTask[];
  private readonly makerTasks: readonly PeriodicTask[];
  private readonly connectTimeoutMs: number;
  private readonly retentionHours: number;
  private stopped = false;

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly turns: JobTurns,
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
    this.makerTasks = [
      this.task('due jobs', dueMs, () => this.workOnDue()),
      this.task(
        'canceled jobs',
        () => cancelSweepMs,
        () => this.tellProviders(),
      ),
    ];
    this.tasks = [
      this.task(
        'expired jobs',
        () => sweepMs,
        () => this.expire(),
      ),
      this.task(
        'deleted jobs',
        () => removalSweepMs,
        () => this.removeDeleted(),
      ),
      this.task(
        'results that have gone',
        () => removalSweepMs,
        () => this.removeLost(),
      ),
    ];
  }

  /** @param hasMakers whether any provider of this process makes jobs: without one, only ends and remains are seen to */
  start(hasMakers: boolean): void {
    this.stopped = false;
    for (const task of hasMakers ? [...this.tasks, ...this.makerTasks] : this.tasks) void task.start();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all([...this.tasks, ...this.makerTasks].map((task) => task.stop()));
  }

  /** Begins turns for as long as there are due jobs and places, and waits for no particular one of them. */
  private async workOnDue(): Promise<void> {
    while (!this.stopped && this.turns.free > 0) {
      const limit = this.turns.free;
      const graceSeconds = this.wakeUps.isReachable ? undefined : 0;
      const due = await this.jobs.findDue(limit, graceSeconds, this.turns.fullLanes());
      const begun = due.flatMap((job) => this.turns.begin(job) ?? []);
      if (begun.length === 0 || due.length < limit) return;
      // Some found no place in their lane, and others may be behind them: look again at once, past that lane.
      if (begun.length < limit) continue;
      await Promise.race([...begun, delay(this.options.unwokenSweepMs, undefined, { ref: false })]);
    }
  }

  private async expire(): Promise<void> {
    const heldUp = new Set<string>();
    for (let more = true; more && !this.stopped;) {
      const expired = await this.jobs.findExpired(BATCH, [...heldUp]);
      await this.expireAll(expired, heldUp);
      more = expired.length === BATCH;
    }
  }

  /**
   * Those of an organization whose account cannot be changed now are left to the next look, and keep no others waiting.
   * @param heldUp such organizations, to which those that are found are added
   * @throws what the last of several failed with: then it is the database
   */
  private async expireAll(expired: readonly MediaJob[], heldUp: Set<string>): Promise<void> {
    for (const job of expired) {
      const { id: jobId, organizationId, status, provider } = job;
      if (this.stopped || heldUp.has(organizationId)) continue;
      try {
        if (await this.endings.expire(job)) this.logger.warn({ message: 'a job has expired', jobId, status, provider });
      } catch (error) {
        heldUp.add(organizationId);
        if (heldUp.size === HELD_UP_ACCOUNTS) throw error;
        this.logger.warn({ message: 'an expired job could not be ended', jobId, err: error });
      }
    }
  }

  private async tellProviders(): Promise<void> {
    const due = await this.jobs.claimCancellations(CANCELLATIONS);
    await Promise.all(due.map((each) => this.tellProvider(each)));
  }

  /** What it says does not matter to the job; when it says nothing it is told again. */
  private async tellProvider({ job, handle }: DueCancellation): Promise<void> {
    const target = this.targets.find(job);
    const adapter = target?.adapter;
    if (target === null || adapter?.mode !== 'async' || adapter.cancel === undefined) {
      await this.jobs.endCancellation(job.id);
      return;
    }
    const { pollTimeoutMs } = this.options;
    const deadlines = deadlinesOf(pollTimeoutMs, this.connectTimeoutMs);
    try {
      const answer = await inLimits(pollTimeoutMs, null, async (signal) =>
        adapter.cancel?.(handle, toCall(job, target, deadlines, signal)),
      );
      if (answer === 'too-late') await this.endings.noteLateSuccess(job);
      await this.jobs.endCancellation(job.id);
    } catch (error) {
      this.logger.warn({ message: 'a provider was not told that a job was given up', jobId: job.id, err: error });
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
      this.logger.warn({ message: `${what} could not be looked for`, err: error });
    return new PeriodicTask({ run, pauseMs, onError });
  }
}
