import { OnWorkerEvent, WorkerHost } from '@nestjs/bullmq';
import { DelayedError, type Job, type WorkerOptions } from 'bullmq';
import type { Clock } from '../time/clock';
import type { QueueConnection } from './queue-connection';
import type { WakeUp } from './wake-up-queue';

/** Options of every `@Processor`. */
export const WAKE_UP_WORKER_OPTIONS = {
  /** `start` begins taking wake-ups once the application has started. */
  autorun: false,
  /** After this long without a sign of life, a process loses its wake-ups to others. */
  lockDuration: 30_000,
  stalledInterval: 15_000,
  /** Wake-ups have unlimited retries: the row decides about the work. */
  maxStalledCount: 100,
  runRetryDelay: 1_000,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 },
} satisfies Partial<WorkerOptions>;

/**
 * Wake-ups due within the same quarter of a second become due together, so that a worker waits in Redis only for the
 * first of them.
 */
const SHARED_MS = 250;

/** Takes wake-ups from Redis for one process. Subclasses are `@Processor`s of a queue. */
export abstract class WakeUpProcessor extends WorkerHost {
  private closing: Promise<void> | null = null;

  constructor(
    private readonly connection: QueueConnection,
    protected readonly clock: Clock,
  ) {
    super();
  }

  /** Works on the row. Returns the delay until its next wake-up in milliseconds; `null`: none. */
  protected abstract handle(row: WakeUp): Promise<number | null>;

  async process(job: Job<WakeUp>, token?: string): Promise<void> {
    // During a shutdown the entry returns to the queue at once, for another process.
    const againInMs = this.closing === null ? await this.handle(job.data) : 0;
    if (againInMs === null) return;
    await job.moveToDelayed(sharedTime(this.clock.now(), againInMs), token);
    throw new DelayedError();
  }

  @OnWorkerEvent('error')
  onError(error: Error): void {
    this.connection.report(error);
  }

  /** A wake-up that failed is not repeated: the sweep finds its row. */
  @OnWorkerEvent('failed')
  onFailed(_job: Job<WakeUp> | undefined, error: Error): void {
    this.connection.report(error);
  }

  protected start(concurrency: number): void {
    this.worker.concurrency = concurrency;
    this.worker.run().catch((error: unknown) => this.connection.report(error));
  }

  /**
   * Takes no more wake-ups. Forces the close, because a graceful one would wait for a possibly unavailable Redis;
   * wake-ups in progress are still moved to their next time.
   */
  protected close(): Promise<void> {
    this.closing ??= this.worker.close(true);
    return this.closing;
  }
}

/** Rounds the due time up, because the row must be due by then; a short delay is not rounded. */
function sharedTime(nowMs: number, delayMs: number): number {
  const atMs = nowMs + delayMs;
  return delayMs < SHARED_MS ? atMs : Math.ceil(atMs / SHARED_MS) * SHARED_MS;
}
