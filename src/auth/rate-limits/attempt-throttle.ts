import { Inject, Injectable, Logger } from '@nestjs/common';
import type { RedisClient } from '../../core/redis/redis-client';
import { CLOCK, type Clock } from '../../core/time/clock';
import { GatewayError } from '../../core/errors/gateway-error';
import { uuidV7 } from '../../core/types/ids';
import type { AttemptLog } from './attempt-log';
import { REDIS } from '../../core/redis/redis.module';

/** A permitted attempt, already counted. */
export interface Attempt {
  readonly id: string;
  readonly atMs: number;
}

/**
 * Counts attempts exactly, even concurrent ones. A log is a sorted set: its members are attempts, their scores the
 * start times. Attempts older than the window of the log do not count.
 *
 * KEYS     logs
 * ARGV     now, id of the attempt, then per log its limit and its window; times in milliseconds
 * Returns  0: the attempt was added to every log; n: it was added to none and can be made in n milliseconds
 */
const ATTEMPT_SCRIPT = `
local now = tonumber(ARGV[1])
local wait = 0
for index, key in ipairs(KEYS) do
  local limit, window = tonumber(ARGV[index * 2 + 1]), tonumber(ARGV[index * 2 + 2])
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - window))
  local count = redis.call('ZCARD', key)
  if count >= limit then
    -- There is room as soon as this attempt leaves the window.
    local oldest = redis.call('ZRANGE', key, count - limit, count - limit, 'WITHSCORES')
    wait = math.max(wait, tonumber(oldest[2]) + window - now)
  end
end
if wait > 0 then return wait end
for index, key in ipairs(KEYS) do
  redis.call('ZADD', key, ARGV[1], ARGV[2])
  redis.call('PEXPIRE', key, ARGV[index * 2 + 2])
end
return 0
`;

/** The hash tag of all logs, so that a cluster can use several at once. */
const storedKey = (key: string): string => `{attempts}:${key}`;

type AttemptStore = Pick<RedisClient, 'eval' | 'zrem' | 'zremrangebyscore'>;

const logger = new Logger('AttemptThrottle');

/**
 * Counts attempts before they are made, so that concurrent ones cannot exceed a limit. Processes share the counts
 * through Redis; while it is down, each process counts locally and never fails open.
 */
@Injectable()
export class AttemptThrottle {
  private readonly local = new LocalAttempts();
  /** Whether local counting was logged already; reset once Redis counts again. */
  private isLocal = false;

  constructor(
    @Inject(REDIS) private readonly redis: AttemptStore,
    @Inject(CLOCK) private readonly clock: Clock,
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
      await this.redis.zrem(storedKey(key), id).catch(() => undefined);
    }
  }

  /** Removes the attempts up to `atMs`; later ones still count. Never throws. */
  async clear({ key }: Pick<AttemptLog, 'key'>, atMs: number): Promise<void> {
    this.local.forget(key, (entry) => entry.atMs <= atMs);
    await this.redis.zremrangebyscore(storedKey(key), '-inf', atMs).catch(() => undefined);
  }

  private async count(logs: readonly AttemptLog[], id: string, nowMs: number): Promise<number> {
    const keys = logs.map(({ key }) => storedKey(key));
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

/** Memory limit. Only an attack creates more logs, and new ones are refused then. */
const MAX_LOGS = 20_000;
/** A sweep of all logs takes milliseconds. */
const SWEEP_EVERY_MS = 1_000;

interface Entry {
  readonly id: string;
  readonly atMs: number;
  /** When the attempt leaves the window. */
  readonly untilMs: number;
}

/** In-process equivalent of `ATTEMPT_SCRIPT`, used while Redis is down. */
class LocalAttempts {
  private readonly logs = new Map<string, Entry[]>();
  private sweptAtMs = -Infinity;

  /** @returns 0, or the milliseconds after which the attempt can be made. */
  take(logs: readonly AttemptLog[], id: string, nowMs: number): number {
    const waits = logs.map((log) => this.waitMs(log, nowMs));
    const waitMs = Math.max(...waits);
    if (waitMs > 0) return waitMs;
    for (const { key, windowMs } of logs) {
      const entry = { id, atMs: nowMs, untilMs: nowMs + windowMs };
      this.logs.set(key, [...(this.logs.get(key) ?? []), entry]);
    }
    return 0;
  }

  /** Removes the attempts for which `shouldForget` returns true. */
  forget(key: string, shouldForget: (entry: Entry) => boolean): void {
    const left = (this.logs.get(key) ?? []).filter((entry) => !shouldForget(entry));
    if (left.length === 0) this.logs.delete(key);
    else this.logs.set(key, left);
  }

  private waitMs({ key, limit }: AttemptLog, nowMs: number): number {
    this.forgetOld(key, nowMs);
    const entries = this.logs.get(key);
    if (entries === undefined) return this.logs.size < MAX_LOGS ? 0 : this.makeRoom(nowMs);
    const blocking = entries[entries.length - limit];
    return blocking === undefined ? 0 : blocking.untilMs - nowMs;
  }

  /** Fails closed: if a full table evicted logs, an attacker could fill it and guess without limit. */
  private makeRoom(nowMs: number): number {
    if (nowMs - this.sweptAtMs < SWEEP_EVERY_MS) return SWEEP_EVERY_MS;
    this.sweptAtMs = nowMs;
    for (const key of this.logs.keys()) this.forgetOld(key, nowMs);
    return this.logs.size < MAX_LOGS ? 0 : SWEEP_EVERY_MS;
  }

  private forgetOld(key: string, nowMs: number): void {
    this.forget(key, ({ untilMs }) => untilMs <= nowMs);
  }
}
