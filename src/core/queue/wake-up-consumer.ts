import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Clock } from '../time/clock';
import { QUEUE_NAME, type WakeUp, type WakeUpPayload } from './wake-up';

/** Returns the delay in milliseconds until the next wake-up for the same row; `null`: done, with or without success. */
export type WakeUpHandler = (wakeUp: WakeUp) => Promise<number | null>;

/** After this long without a sign of life, a process loses its wake-ups to others. */
const LOCK_MS = 30_000;
const STALLED_CHECK_MS = 15_000;
/** Wake-ups have unlimited retries: the row decides about the work. */
const MAX_STALLED = 100;
/** A worker that has not closed by then is waiting for an unavailable Redis and takes no more wake-ups. */
const CLOSE_MS = 2_000;
/** Pause before a failed connection is retried. */
const RESTART_MS = 1_000;
const RETRY_MS = 1_000;

/** Takes wake-ups from Redis for one process, and resumes after outages of Redis or the database. */
export class WakeUpConsumer {
  private worker: Worker<WakeUpPayload> | null = null;
  private connection: Redis | null = null;
  private serving: Promise<void> = Promise.resolve();
  private readonly stopping = Promise.withResolvers<void>();
  private stopped = false;

  constructor(
    private readonly redis: Redis,
    /** The key prefix of the deployment, read from the database. */
    private readonly findPrefix: () => Promise<string>,
    private readonly handle: WakeUpHandler,
    private readonly concurrency: number,
    private readonly clock: Clock,
    private readonly onError: (error: unknown) => void,
  ) {}

  start(): void {
    // Without it the sweeps still advance the jobs.
    this.serving = this.serve().catch(this.onError);
  }

  /** Stops taking wake-ups. Resolves when no handler runs; wake-ups in progress are handled or dropped. */
  async stop(): Promise<void> {
    if (!this.stopped) {
      this.stopped = true;
      await this.close();
      this.stopping.resolve();
    }
    await this.serving;
  }

  private async serve(): Promise<void> {
    const { Worker, DelayedError } = await import('bullmq');
    const process = async (job: Job<WakeUpPayload>, token?: string): Promise<void> => {
      const { jobId, gen, lane } = job.data;
      const againInMs = this.stopped ? null : await this.handle({ id: jobId, version: gen, lane });
      if (againInMs === null) return;
      await job.moveToDelayed(this.clock.now() + againInMs, token);
      throw new DelayedError();
    };
    while (!this.stopped) {
      try {
        const prefix = await Promise.race([this.findPrefix(), this.stopping.promise]);
        if (prefix === undefined || this.stopped) return;
        this.connection = this.connect();
        this.worker = new Worker<WakeUpPayload>(QUEUE_NAME, process, {
          connection: this.connection,
          prefix,
          autorun: false,
          concurrency: this.concurrency,
          lockDuration: LOCK_MS,
          stalledInterval: STALLED_CHECK_MS,
          maxStalledCount: MAX_STALLED,
          runRetryDelay: RETRY_MS,
          removeOnComplete: { count: 0 },
          removeOnFail: { count: 0 },
        });
        this.worker.on('error', this.onError);
        // A worker that lost its connection may wait forever for a reply of the former one, so it is replaced. A worker
        // closed during a Redis outage never reports its end.
        await Promise.race([this.run(this.worker), once(this.connection, 'close'), this.stopping.promise]);
      } catch (error) {
        this.onError(error);
      }
      if (this.stopped) return;
      await this.close();
      await delay(RESTART_MS, undefined, { ref: false });
    }
  }

  private async run(worker: Worker<WakeUpPayload>): Promise<void> {
    await worker.waitUntilReady();
    await worker.run();
  }

  /** Commands may wait for Redis here: no caller waits for them. */
  private connect(): Redis {
    return this.redis
      .duplicate({
        connectionName: 'gateway worker',
        enableOfflineQueue: true,
        maxRetriesPerRequest: null,
        commandTimeout: undefined,
      })
      .on('error', () => undefined);
  }

  /** Forced: a graceful close would wait for a possibly unavailable Redis, and the rows record the open work. */
  private async close(): Promise<void> {
    const { worker, connection } = this;
    this.worker = null;
    this.connection = null;
    if (worker === null) return;
    // Pending waits for the connection would otherwise never end.
    connection?.disconnect();
    await Promise.race([worker.close(true), delay(CLOSE_MS, undefined, { ref: false })]);
  }
}
