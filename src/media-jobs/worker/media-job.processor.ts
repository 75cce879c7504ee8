import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnApplicationBootstrap } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { QueueConnection } from '../../core/queue/queue-connection';
import { WAKE_UP_WORKER_OPTIONS, WakeUpProcessor } from '../../core/queue/wake-up-processor';
import type { WakeUp } from '../../core/queue/wake-up-queue';
import { CLOCK, type Clock } from '../../core/time/clock';
import { JobRoutes } from '../job-routes';
import { MEDIA_JOB_QUEUE } from '../job-wake-ups';
import { MediaJobRepository } from '../media-job.repository';
import type { DueJob } from '../media-job.types';
import { JobRunner } from './job-runner';
import { JobSweeps } from './job-sweeps';
import { noRoomPauseMs } from './pauses';

/** How long a wake-up waits for a slot of its lane. Quick steps free a slot much sooner; a lane that hangs does not. */
const SLOT_TIMEOUT_MS = 1_000;

/** Each pool has `WORKER_CONCURRENCY` slots (`job-runner.ts`). */
const POOLS = 2;
/** For each running step of a pool, one more wake-up may wait for a slot. */
const WAKE_UPS_PER_SLOT = 2;

/** Runs the due steps of jobs on wake-ups. Without Redis, the sweeps run all steps. */
@Processor(MEDIA_JOB_QUEUE, WAKE_UP_WORKER_OPTIONS)
export class MediaJobProcessor extends WakeUpProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly concurrency: number;
  private draining: Promise<void> | null = null;

  constructor(
    private readonly jobs: MediaJobRepository,
    private readonly runner: JobRunner,
    private readonly sweeps: JobSweeps,
    private readonly routes: JobRoutes,
    connection: QueueConnection,
    @Inject(CLOCK) clock: Clock,
    @Inject(APP_CONFIG) { worker }: Pick<AppConfig, 'worker'>,
  ) {
    super(connection, clock);
    this.concurrency = worker.concurrency;
  }

  onApplicationBootstrap(): void {
    if (this.routes.hasProviders) this.start(WAKE_UPS_PER_SLOT * POOLS * this.concurrency);
  }

  /** {@link drain} without a grace period, for applications that did not call it. */
  beforeApplicationShutdown(): Promise<void> {
    return this.drain(0);
  }

  /**
   * Takes no more jobs and resolves when the steps under way have ended. After `timeoutMs` it releases jobs that other
   * processes can continue.
   */
  drain(timeoutMs: number): Promise<void> {
    this.draining ??= this.stop(timeoutMs);
    return this.draining;
  }

  protected async handle(job: WakeUp): Promise<number | null> {
    const poll = this.runner.takeUpcomingPoll(job.id);
    const polled = poll === null ? 'not-claimed' : await this.run(poll);
    if (polled !== 'not-claimed') return polled;
    const next = await this.jobs.findNextStep(job);
    if (next === null) return null;
    if (next.inMs > 0) return next.inMs;
    const ran = await this.run(next);
    return ran === 'not-claimed' ? null : ran;
  }

  /** Milliseconds until the next wake-up; `null`: none is due. */
  private async run(due: DueJob): Promise<number | null | 'not-claimed'> {
    await this.runner.waitForSlot(due, SLOT_TIMEOUT_MS);
    const step = this.runner.begin(due);
    // No slot is free: the lane waits without blocking other lanes.
    if (step === null) return noRoomPauseMs();
    const end = await step;
    return end === null || end === 'not-claimed' ? end : end.inMs;
  }

  private async stop(timeoutMs: number): Promise<void> {
    this.sweeps.stop();
    await Promise.all([this.close(), this.runner.stop(timeoutMs)]);
  }
}
