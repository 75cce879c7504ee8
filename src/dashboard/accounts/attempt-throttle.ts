import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import { uuidV7 } from '../../core/types/ids';
import type { AttemptLog } from './attempt-logs';
import { ATTEMPT_SCRIPT } from './attempt-script';
import { LocalAttempts } from './local-attempts';

/** A permitted attempt, already counted. */
export interface Attempt {
  readonly id: string;
  readonly atMs: number;
}

type AttemptStore = Pick<Redis, 'eval' | 'zrem' | 'zremrangebyscore'>;

const logger = new Logger('AttemptThrottle');

/**
 * Counts attempts before they are made, so that concurrent ones cannot exceed a limit. Processes share the counts through
 * Redis; while it is down, each process counts locally and never fails open.
 */
export class AttemptThrottle {
  private readonly local = new LocalAttempts();
  /** Whether the fallback was logged already; reset once Redis counts again. */
  private isLocal = false;

  constructor(
    private readonly redis: AttemptStore,
    private readonly clock: Clock,
  ) {}

  /** @throws GatewayError `rate_limited` with the seconds until every log has room. */
  async take(logs: readonly AttemptLog[]): Promise<Attempt> {
    const atMs = this.clock.now();
    const id = uuidV7(atMs);
    const waitMs = await this.count(logs, id, atMs);
    if (waitMs > 0) {
      throw new GatewayError('rate_limited', 'Too many attempts. Try again later.', {
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
      });
    }
    return { id, atMs };
  }

  /** Removes an attempt from these logs. Never throws. */
  async giveBack({ id }: Attempt, logs: readonly Pick<AttemptLog, 'key'>[]): Promise<void> {
    for (const { key } of logs) {
      this.local.forget(key, (entry) => entry.id === id);
      await this.redis.zrem(key, id).catch(() => undefined);
    }
  }

  /** Removes the attempts up to `atMs`; later ones still count. Never throws. */
  async clear({ key }: Pick<AttemptLog, 'key'>, atMs: number): Promise<void> {
    this.local.forget(key, (entry) => entry.atMs <= atMs);
    await this.redis.zremrangebyscore(key, '-inf', atMs).catch(() => undefined);
  }

  private async count(logs: readonly AttemptLog[], id: string, nowMs: number): Promise<number> {
    const keys = logs.map(({ key }) => key);
    const limits = logs.flatMap(({ limit, windowMs }) => [limit, windowMs]);
    try {
      const waitMs = Number(await this.redis.eval(ATTEMPT_SCRIPT, keys.length, ...keys, nowMs, id, ...limits));
      this.isLocal = false;
      return waitMs;
    } catch (error) {
      if (!this.isLocal) {
        logger.warn({
          event: 'attempts_counted_locally',
          message: 'Redis is unavailable; this process counts attempts locally',
          err: error,
        });
      }
      this.isLocal = true;
      return this.local.take(logs, id, nowMs);
    }
  }
}
