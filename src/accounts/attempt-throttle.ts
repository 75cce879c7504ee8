import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Clock } from '../common/clock';
import { GatewayError } from '../common/errors/gateway-error';
import { uuidV7 } from '../common/ids';
import type { AttemptLog } from './attempt-logs';
import { ATTEMPT_SCRIPT } from './attempt-script';
import { LocalAttempts } from './local-attempts';

/** An attempt that may be made, and counts from now on. */
export interface Attempt {
  readonly id: string;
  readonly atMs: number;
}

type AttemptStore = Pick<Redis, 'eval' | 'zrem' | 'zremrangebyscore'>;

const logger = new Logger('AttemptThrottle');

/**
 * Counts attempts before they are made, so that of many at once no more are made than may be. Shared by all processes
 * through Redis; while that is away each process counts for itself, which is never open.
 */
export class AttemptThrottle {
  private readonly local = new LocalAttempts();
  /** Told once, until Redis counts again. */
  private alone = false;

  constructor(
    private readonly redis: AttemptStore,
    private readonly clock: Clock,
  ) {}

  /** @throws GatewayError `rate_limited` with the seconds after which there is room in every log. */
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

  /** The attempt was none after all, so it no longer counts in these logs. Never throws. */
  async giveBack({ id }: Attempt, logs: readonly Pick<AttemptLog, 'key'>[]): Promise<void> {
    for (const { key } of logs) {
      this.local.forget(key, (entry) => entry.id === id);
      await this.redis.zrem(key, id).catch(() => undefined);
    }
  }

  /** Forgets what is in the log up to `atMs`; what has come since still counts. Never throws. */
  async clear({ key }: Pick<AttemptLog, 'key'>, atMs: number): Promise<void> {
    this.local.forget(key, (entry) => entry.atMs <= atMs);
    await this.redis.zremrangebyscore(key, '-inf', atMs).catch(() => undefined);
  }

  private async count(logs: readonly AttemptLog[], id: string, nowMs: number): Promise<number> {
    const keys = logs.map(({ key }) => key);
    const limits = logs.flatMap(({ limit, windowMs }) => [limit, windowMs]);
    try {
      const waitMs = Number(await this.redis.eval(ATTEMPT_SCRIPT, keys.length, ...keys, nowMs, id, ...limits));
      this.alone = false;
      return waitMs;
    } catch (error) {
      if (!this.alone) logger.warn(`Redis does not count attempts, so this process does: ${String(error)}`);
      this.alone = true;
      return this.local.take(logs, id, nowMs);
    }
  }
}
