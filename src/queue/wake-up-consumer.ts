import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Clock } from '../common/clock';
import { QUEUE_NAME, type WakeUp, type WakeUpPayload } from './wake-up';

/** Answers with the milliseconds after which to be woken again for the same; `null`: it is done, well or not. */
export type WakeUpHandler = (wakeUp: WakeUp) => Promise<number | null>;

/** A process that has not been heard of for so long has lost its wake-ups to others. */
const LOCK_MS = 30_000;
const STALLED_CHECK_MS = 15_000;
/** A wake-up is never given up: what becomes of the work is decided by its row. */
const MAX_STALLED = 100;
/** A worker that has not closed by then waits for a Redis that is away, and takes nothing any more. */
const CLOSE_MS = 2_000;
/** Before a connection that did not come about is tried anew. */
const RESTART_MS = 1_000;
const RETRY_MS = 1_000;

/** Takes wake-ups from Redis for one process, and goes on when Redis, or the database, comes back after it was away. */
export class WakeUpConsumer {
  private worker: Worker<WakeUpPayload> | null = null;
  private connection: Redis | null = null;
  private serving: Promise<void> = Promise.resolve();
  private readonly stopping = Promise.withResolvers<void>();
  private stopped = false;

  constructor(
    private readonly redis: Redis,
    /** What the keys of the deployment begin with, which the database knows. */
    private readonly findPrefix: () => Promise<string>,
    private readonly handle: WakeUpHandler,
    private readonly concurrency: number,
    private readonly clock: Clock,
    private readonly onError: (error: unknown) => void,
  ) {}

  start(): void {
    // Without it the sweeps still move the jobs on.
    this.serving = this.serve().catch(this.onError);
  }

  /** Takes no more wake-ups. Resolves when nothing is going on any more; what was being handled is handled or lost. */
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
        // A worker that lost its connection may wait on for what the former one was to bring: another one takes its place.
        // One that was closed while Redis was away never says that it has ended.
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

  /** Commands wait for Redis here: nobody waits for them. */
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

  /** By force: a proper end would wait for a Redis that may be away, and the rows say what was not done. */
  private async close(): Promise<void> {
    const { worker, connection } = this;
    this.worker = null;
    this.connection = null;
    if (worker === null) return;
    // Whoever has been waiting for the connection would otherwise wait for ever.
    connection?.disconnect();
    await Promise.race([worker.close(true), delay(CLOSE_MS, undefined, { ref: false })]);
  }
}
