import { setTimeout as delay } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import type { QueueConnection } from './queue-connection';

/** Maximum time a sender waits for Redis. */
const SEND_TIMEOUT_MS = 250;

/** BullMQ logs every step of an entry for listeners. There are none here; the default keeps 10,000 events. */
const MAX_EVENTS_FIELD = 'opts.maxLenEvents';
const MAX_EVENTS = 10;

/** The only data of a queue entry: the key of a database row. */
export interface WakeUp {
  readonly organizationId: string;
  /** Unique among all organizations. */
  readonly id: string;
}

/**
 * Wakes a worker of any process for a row, now or later. Best effort: a sweep of the table finds lost work, so callers
 * never depend on Redis, and a loss of its data is harmless.
 */
export class WakeUpQueue {
  constructor(
    private readonly queue: Queue<WakeUp>,
    private readonly connection: QueueConnection,
  ) {
    queue.on('error', (error) => connection.report(error));
    connection.onReady(() => {
      connection.redis
        .hset(queue.toKey('meta'), MAX_EVENTS_FIELD, MAX_EVENTS)
        .catch((error: unknown) => connection.report(error));
    });
  }

  /** Whether a wake-up sent now can arrive. */
  get isReachable(): boolean {
    return this.connection.isReady;
  }

  /**
   * Replaces an earlier wake-up of the row that has not arrived. Resolves when the wake-up is in Redis, has failed, or
   * Redis is slow. Never rejects.
   */
  async wake(row: WakeUp, delayMs = 0): Promise<void> {
    if (!this.isReachable) return;
    const sent = this.send(row, delayMs).catch((error: unknown) => this.connection.report(error));
    await Promise.race([sent, delay(SEND_TIMEOUT_MS, undefined, { ref: false })]);
  }

  private async send({ organizationId, id }: WakeUp, delayMs: number): Promise<void> {
    await this.queue.remove(id);
    await this.queue.add('wake-up', { organizationId, id }, { jobId: id, delay: Math.max(0, Math.round(delayMs)) });
  }
}
