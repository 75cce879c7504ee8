/**
 * Shares the health of deployments, and the cool-downs of keys, between processes through Redis, off the path of
 * successful requests: a message announces a state change, a hash holds the current states for processes that missed
 * it, a counter sums the failures of all. Redis is optional: without it each process uses only its own observations.
 */
import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { RedisClient } from '../../core/redis/redis-client';
import { RedisSubscription } from '../../core/redis/redis-subscription';
import { REDIS } from '../../core/redis/redis.module';

/**
 * `open`: no calls for `forMs`, then a probe; `cool`: no calls for `forMs`; `close`: calls are allowed; `reset`:
 * cleared by an operator. `key`: no calls with a key of provider instances for `forMs`; 0: the key may be used again.
 */
export interface HealthNews {
  readonly kind: 'open' | 'cool' | 'close' | 'reset' | 'key';
  /** Id of the deployment, or of the key (`PooledKey.accountId`). */
  readonly id: string;
  /** Milliseconds from now. */
  readonly forMs: number;
}

const CHANNEL = 'gateway:health';
/** The keys share a hash tag, so that a script can use them together in a cluster. */
const STATES_KEY = '{gateway:health}:states';
const failuresKey = (deploymentId: string): string => `{gateway:health}:failures:${deploymentId}`;
const probeKey = (deploymentId: string): string => `{gateway:health}:probe:${deploymentId}`;

/** States of removed deployments expire after an hour without any change. */
const STATES_LIFETIME_MS = 3_600_000;

/**
 * KEYS: states; failures of the deployment if their count is reset. ARGV: field, milliseconds (-1: the state ends),
 * lifetime, channel, message.
 * Times use Redis's clock, since the clocks of the processes may differ.
 */
const ANNOUNCE = `
local lasts = tonumber(ARGV[2])
if lasts < 0 then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], ARGV[1], time[1] * 1000 + math.floor(time[2] / 1000) + lasts)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
if KEYS[2] then redis.call('DEL', KEYS[2]) end
redis.call('PUBLISH', ARGV[4], ARGV[5])
return 1`;

/** KEYS: states, failures and probe of the deployment. ARGV: both fields of it, channel, message. */
const RESET = `
redis.call('HDEL', KEYS[1], ARGV[1], ARGV[2])
redis.call('DEL', KEYS[2], KEYS[3])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return 1`;

/**
 * KEYS: failures of the deployment. ARGV: window in milliseconds. Returns the consecutive failures of all processes.
 */
const COUNT_FAILURE = `
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return count`;

/**
 * KEYS: states. ARGV: lifetime. Returns fields and milliseconds left, alternating. Deletes expired cool-downs, and open
 * states not probed within the lifetime.
 */
const READ_STATES = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local states = redis.call('HGETALL', KEYS[1])
for at = 2, #states, 2 do
  local left = tonumber(states[at]) - now
  local kept = string.sub(states[at - 1], 1, 5) == 'open:' and tonumber(ARGV[1]) or 0
  if left + kept <= 0 then redis.call('HDEL', KEYS[1], states[at - 1]) end
  states[at] = math.max(0, left)
end
return states`;

@Injectable()
export class HealthSharing {
  private readonly logger = new Logger(HealthSharing.name);
  /** Identifies messages of this process, which it ignores. */
  private readonly origin = randomUUID();
  /** The channel with the key prefix, which Redis does not add when a script publishes. */
  private readonly channel: string;
  private subscription: RedisSubscription | null = null;

  constructor(@Inject(REDIS) private readonly redis: RedisClient) {
    this.channel = `${redis.options.keyPrefix ?? ''}${CHANNEL}`;
  }

  /** Subscribes to other processes. `onListening`: earlier messages may have been missed. */
  listen(onNews: (news: HealthNews) => void, onListening: () => void): void {
    this.subscription = new RedisSubscription(this.redis, CHANNEL, {
      onMessage: (message) => {
        const news = this.parse(message);
        if (news !== null) onNews(news);
      },
      onListening,
    });
    this.subscription.start();
  }

  stop(): void {
    this.subscription?.stop();
  }

  /** Never rejects. */
  async announce({ kind, id, forMs }: HealthNews): Promise<void> {
    const isBreaker = kind !== 'cool' && kind !== 'key';
    const field = `${isBreaker ? 'open' : kind}:${id}`;
    const lastsMs = kind === 'close' || (kind === 'key' && forMs === 0) ? -1 : Math.ceil(forMs);
    const message = `${this.origin} ${kind} ${id} ${Math.ceil(forMs)}`;
    const keys = isBreaker ? [STATES_KEY, failuresKey(id)] : [STATES_KEY];
    await this.attempt(
      this.redis.eval(ANNOUNCE, keys.length, ...keys, field, lastsMs, STATES_LIFETIME_MS, this.channel, message),
    );
  }

  /** Clears a deployment in Redis and in all processes. @returns whether Redis accepted it. */
  async forget(deploymentId: string): Promise<boolean> {
    const keys = [STATES_KEY, failuresKey(deploymentId), probeKey(deploymentId)];
    const fields = [`open:${deploymentId}`, `cool:${deploymentId}`];
    const message = `${this.origin} reset ${deploymentId} 0`;
    const reply = await this.attempt(this.redis.eval(RESET, keys.length, ...keys, ...fields, this.channel, message));
    return reply !== undefined;
  }

  /** Counts a failure across all processes. @returns consecutive failures; 0 when Redis did not answer. */
  async countFailure(deploymentId: string, windowMs: number): Promise<number> {
    const count = await this.attempt(this.redis.eval(COUNT_FAILURE, 1, failuresKey(deploymentId), windowMs));
    return Number(count ?? 0);
  }

  /** Resets the count after a success. Never rejects. */
  async forgetFailures(deploymentId: string): Promise<void> {
    await this.attempt(this.redis.del(failuresKey(deploymentId)));
  }

  /**
   * Whether this process may make the single probe of all processes within `forMs`. Also `true` when Redis does not
   * answer: an extra probe does less harm than a deployment that is never probed.
   */
  async claimProbe(deploymentId: string, forMs: number): Promise<boolean> {
    const claim = this.redis.set(probeKey(deploymentId), this.origin, 'PX', Math.ceil(forMs), 'NX');
    // Redis returns null for a refused claim; undefined means that Redis did not respond.
    return (await this.attempt(claim)) !== null;
  }

  /** The current states, to recover missed messages. Never rejects; empty without Redis. */
  async read(): Promise<HealthNews[]> {
    return (await this.readStates()) ?? [];
  }

  /** Like {@link read}; `null` when Redis did not answer. */
  async readStates(): Promise<HealthNews[] | null> {
    const reading = this.redis.eval(READ_STATES, 1, STATES_KEY, STATES_LIFETIME_MS);
    const states = (await this.attempt(reading)) as (string | number)[] | undefined;
    if (states === undefined) return null;
    const news: HealthNews[] = [];
    for (let at = 0; at + 1 < states.length; at += 2) {
      const [kind, id = ''] = String(states[at]).split(':');
      const forMs = Number(states[at + 1]);
      if (kind === 'open' || ((kind === 'cool' || kind === 'key') && forMs > 0)) news.push({ kind, id, forMs });
    }
    return news;
  }

  private parse(message: string): HealthNews | null {
    const [origin, kind, id = '', forMs = ''] = message.split(' ');
    if (origin === this.origin || !isKind(kind)) return null;
    return { kind, id, forMs: Number(forMs) };
  }

  /** Logs at debug level only, because the connection already reports an outage of Redis. */
  private async attempt<Value>(command: Promise<Value>): Promise<Value | undefined> {
    try {
      return await command;
    } catch (error) {
      this.logger.debug(`Redis did not accept a health update: ${String(error)}`);
      return undefined;
    }
  }
}

const KINDS: ReadonlySet<string | undefined> = new Set<HealthNews['kind']>(['open', 'cool', 'close', 'reset', 'key']);

function isKind(kind: string | undefined): kind is HealthNews['kind'] {
  return KINDS.has(kind);
}
