import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Cluster, type RedisOptions } from 'ioredis';
import type { DataSource } from 'typeorm';
import { readDeploymentId } from '../redis/deployment-identity';
import { isNotPrimary, type RedisClient } from '../redis/redis-client';
import { REDIS } from '../redis/redis.module';
import { CLOCK, type Clock } from '../time/clock';

/** Minimum interval between log lines of a lasting failure. */
const REPORT_EVERY_MS = 60_000;

/**
 * The connection of all queues and workers of a process. Its commands wait for Redis and are sent again after a lost
 * connection: BullMQ relies on both, because a command without a reply would block a worker forever. Callers that must
 * not wait use `WakeUpQueue`.
 */
@Injectable()
export class QueueConnection implements OnApplicationShutdown {
  readonly redis: RedisClient;
  private readonly logger = new Logger('Queues');
  private reportedAtMs = -Infinity;
  private closed = false;

  constructor(
    @Inject(REDIS) redis: RedisClient,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.redis = redis instanceof Cluster ? duplicateCluster(redis) : redis.duplicate(primaryOptions());
    // The shared connection reports Redis outages.
    this.redis.on('error', () => undefined);
  }

  /** Whether a wake-up sent now can arrive. */
  get isReady(): boolean {
    return this.redis.status === 'ready';
  }

  /** Calls `listener` now, if Redis is reachable, and whenever it is reachable again. */
  onReady(listener: () => void): void {
    this.redis.on('ready', listener);
    if (this.isReady) listener();
  }

  /** Logs the first error of a lasting failure. */
  report(error: unknown): void {
    const nowMs = this.clock.monotonic();
    if (this.closed || nowMs - this.reportedAtMs < REPORT_EVERY_MS) return;
    this.reportedAtMs = nowMs;
    this.logger.warn({ event: 'wake_ups_delayed', message: 'wake-ups are delayed until the next sweep', err: error });
  }

  onApplicationShutdown(): void {
    this.closed = true;
    this.redis.disconnect();
  }
}

/** Options of every connection of a queue. */
const CONNECTION_OPTIONS = {
  connectionName: 'gateway queues',
  maxRetriesPerRequest: null,
  autoResendUnfulfilledCommands: true,
  commandTimeout: undefined,
} satisfies RedisOptions;

function primaryOptions(): RedisOptions {
  return {
    ...CONNECTION_OPTIONS,
    // BullMQ adds its own prefix.
    keyPrefix: undefined,
    enableOfflineQueue: true,
    // Reconnects and sends the command again.
    reconnectOnError: (error) => (isNotPrimary(error) ? 2 : false),
  };
}

/** `redisOptions` apply to connections to single nodes. BullMQ copies them for a waiting worker. */
function duplicateCluster(cluster: Cluster): Cluster {
  return cluster.duplicate([], {
    keyPrefix: undefined,
    enableOfflineQueue: true,
    // A worker waits for seconds without an answer.
    redisOptions: { ...cluster.options.redisOptions, ...CONNECTION_OPTIONS, socketTimeout: undefined },
  });
}

/**
 * The key prefix of the queues of a deployment: without it, deployments that share a Redis would take each other's
 * wake-ups. The braces keep the keys of a queue on one cluster node.
 */
export async function readQueuePrefix(dataSource: Pick<DataSource, 'query'>): Promise<string> {
  return `{gateway:${await readDeploymentId(dataSource)}}`;
}
