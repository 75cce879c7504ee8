import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../time/clock';
import { REDIS } from '../redis/redis.module';
import { readQueuePrefix } from './queue-prefix';
import { QUEUE_NAME, type WakeUp, type WakeUpPayload } from './wake-up';
import { type WakeUpHandler, WakeUpConsumer } from './wake-up-consumer';

/** Maximum time a sender waits for Redis. */
const COMMAND_TIMEOUT_MS = 250;
/** Minimum interval between log lines of a lasting failure. */
const REPORT_EVERY_MS = 60_000;
/** BullMQ keeps an event log for listeners, of which there are none. */
const KEPT_EVENTS = 10;

/**
 * Wakes workers of all processes through Redis (BullMQ), now or later. Best effort: a sweep of the table finds lost
 * work, so callers never depend on Redis, and a loss of its data is harmless.
 */
@Injectable()
export class WakeUpQueue implements OnApplicationShutdown {
  private readonly logger = new Logger(WakeUpQueue.name);
  private readonly consumers: WakeUpConsumer[] = [];
  private connection: Redis | null = null;
  private opening: Promise<Queue> | null = null;
  private prefix: Promise<string> | null = null;
  private reportedAtMs = -Infinity;
  private closed = false;

  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Whether a wake-up sent now can arrive. */
  get isReachable(): boolean {
    return this.connection?.status === 'ready';
  }

  /** Connects and loads the library; otherwise the first wake-up is lost. Never rejects. */
  async open(): Promise<void> {
    try {
      await this.connect();
    } catch (error) {
      this.report(error);
    }
  }

  /** Resolves when the wake-up is in Redis or has failed. Sending the same one again is a no-op. */
  async send({ id, version, lane }: WakeUp, delayMs = 0): Promise<void> {
    if (!this.isReachable) {
      // The connection is created once and reconnects automatically.
      if (this.connection === null && !this.closed) void this.open();
      return;
    }
    try {
      const queue = await this.connect();
      await queue.add('wake-up', { jobId: id, gen: version, lane } satisfies WakeUpPayload, {
        jobId: `${id}-${version}`,
        delay: Math.max(0, Math.round(delayMs)),
        attempts: 1,
        // A retained wake-up would suppress the next one with the same name.
        removeOnComplete: true,
        removeOnFail: true,
      });
    } catch (error) {
      this.report(error);
    }
  }

  /** Calls `handle` for wake-ups, with up to `concurrency` in parallel, until the consumer is stopped. */
  consume(handle: WakeUpHandler, concurrency: number): WakeUpConsumer {
    const findPrefix = (): Promise<string> => this.findPrefix();
    const report = (error: unknown): void => this.report(error);
    const consumer = new WakeUpConsumer(this.redis, findPrefix, handle, concurrency, this.clock, report);
    this.consumers.push(consumer);
    consumer.start();
    return consumer;
  }

  async onApplicationShutdown(): Promise<void> {
    this.closed = true;
    await Promise.all(this.consumers.map((consumer) => consumer.stop()));
    // Closing the queue would wait for a possibly unavailable Redis.
    this.connection?.disconnect();
  }

  private connect(): Promise<Queue> {
    this.opening ??= this.create().catch((error: unknown) => {
      // A queue whose initialization failed never recovers.
      this.opening = null;
      throw error;
    });
    return this.opening;
  }

  private async create(): Promise<Queue> {
    this.connection ??= this.redis
      .duplicate({
        connectionName: 'gateway wake-ups',
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        commandTimeout: COMMAND_TIMEOUT_MS,
        autoResendUnfulfilledCommands: false,
      })
      // The shared connection reports Redis outages.
      .on('error', () => undefined);
    const [{ Queue }, prefix] = await Promise.all([import('bullmq'), this.findPrefix()]);
    const queue: Queue = new Queue(QUEUE_NAME, {
      connection: this.connection,
      prefix,
      skipMetasUpdate: true,
      streams: { events: { maxLen: KEPT_EVENTS } },
    });
    queue.on('error', (error) => this.report(error));
    await queue.waitUntilReady();
    return queue;
  }

  private findPrefix(): Promise<string> {
    this.prefix ??= readQueuePrefix(this.dataSource).catch((error: unknown) => {
      this.prefix = null;
      throw error;
    });
    return this.prefix;
  }

  private report(error: unknown): void {
    const nowMs = this.clock.monotonic();
    if (this.closed || nowMs - this.reportedAtMs < REPORT_EVERY_MS) return;
    this.reportedAtMs = nowMs;
    this.logger.warn({ event: 'wake_ups_delayed', message: 'wake-ups are delayed until the next sweep', err: error });
  }
}
