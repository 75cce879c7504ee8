import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { DataSource } from 'typeorm';
import { CLOCK, type Clock } from '../common/clock';
import { REDIS } from '../redis/redis.module';
import { readQueuePrefix } from './queue-prefix';
import { QUEUE_NAME, type WakeUp, type WakeUpPayload } from './wake-up';
import { type WakeUpHandler, WakeUpConsumer } from './wake-up-consumer';

/** The longest that a sender waits for Redis. */
const COMMAND_TIMEOUT_MS = 250;
/** A trouble that lasts is told of once in so long. */
const REPORT_EVERY_MS = 60_000;
/** BullMQ keeps a log of events for listeners that there are none of. */
const KEPT_EVENTS = 10;

/**
 * Wakes workers of all processes through Redis (BullMQ), now or later. It promises nothing: what is lost is found by a
 * sweep of the table, so that nobody waits for Redis here, and a Redis that has forgotten everything is no loss.
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

  /** Whether what is sent now has a chance to arrive. */
  get isReachable(): boolean {
    return this.connection?.status === 'ready';
  }

  /** Connects, and loads the library; without it the first to send has no luck. Never rejects. */
  async open(): Promise<void> {
    try {
      await this.connect();
    } catch (error) {
      this.report(error);
    }
  }

  /** Resolves when the wake-up is in Redis, or has failed to get there. The same one again changes nothing. */
  async send({ id, version, lane }: WakeUp, delayMs = 0): Promise<void> {
    if (!this.isReachable) {
      // The connection is made once, and comes back by itself.
      if (this.connection === null && !this.closed) void this.open();
      return;
    }
    try {
      const queue = await this.connect();
      await queue.add('wake-up', { jobId: id, gen: version, lane } satisfies WakeUpPayload, {
        jobId: `${id}-${version}`,
        delay: Math.max(0, Math.round(delayMs)),
        attempts: 1,
        // A wake-up that is kept would swallow the next one of the same name.
        removeOnComplete: true,
        removeOnFail: true,
      });
    } catch (error) {
      this.report(error);
    }
  }

  /** Has `handle` woken from now on, `concurrency` times at once, until the consumer is stopped. */
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
    // Closing the queue would wait for a Redis that may be away.
    this.connection?.disconnect();
  }

  private connect(): Promise<Queue> {
    this.opening ??= this.create().catch((error: unknown) => {
      // A queue whose beginning has failed never works again.
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
      // The shared connection reports that Redis is away.
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
    this.logger.warn({ message: 'wake-ups are delayed until the sweep finds what they were for', err: error });
  }
}
