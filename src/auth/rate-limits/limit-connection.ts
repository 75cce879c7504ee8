import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { within } from '../../core/concurrency/within';
import { COMMAND_TIMED_OUT, isNotPrimary, reconnect, type RedisClient } from '../../core/redis/redis-client';
import type { LimitCall, LimitReply } from './limit-call';
import { UNTAGGED } from './limit-keys';
import { LIMIT_SCRIPT } from './limit-script';

const SCRIPT_SHA = createHash('sha1').update(LIMIT_SCRIPT).digest('hex');
/** Consecutive timeouts after which the connection counts as dead: calls to a vanished host never end. */
const MAX_TIMEOUTS = 4;
/** Pause between attempts to reach a lost cluster node, until its replica takes over. */
const CLUSTER_RETRY_MS = 25;
/** Routes calls without limit keys to a cluster node. */
const NO_LIMITS_KEY = `{${UNTAGGED}}`;
/** How long a call waits for the new primary after a failover. */
const RECONNECT_WITHIN_MS = 250;

/**
 * The limiter's dedicated Redis connection. Every call carries a nonce that the script echoes: a reply to another call
 * admits no request, and the desynchronized connection is dropped.
 */
export class LimitConnection {
  private readonly prefix = randomBytes(6).toString('base64url');
  private calls = 0;
  private timeouts = 0;
  /** The server is no longer the primary and executed no call; the client reconnects. */
  private isLeaving = false;
  private readonly cluster: Cluster | null;

  constructor(private readonly redis: RedisClient) {
    this.cluster = redis instanceof Cluster ? redis : null;
    redis.on('ready', () => {
      this.isLeaving = false;
    });
    // The connection retries indefinitely, and the shared one reports the Redis outage.
    redis.on('error', () => undefined);
  }

  /** In a cluster, all keys of a call need the same hash tag. */
  get isCluster(): boolean {
    return this.cluster !== null;
  }

  /** Calls `listener` whenever Redis is reachable again. */
  onReady(listener: () => void): void {
    this.redis.on('ready', listener);
    // A new node of a cluster, or one that is back.
    this.cluster?.on('+node', listener);
  }

  /** @throws Error when Redis does not answer within the connection's command timeout, or sends an invalid reply. */
  async runScript(call: LimitCall): Promise<LimitReply> {
    const nonce = `${this.prefix}${this.calls++}`;
    const payload = call.encode(nonce);
    const text =
      this.cluster === null
        ? await this.evaluate(call.keys, payload)
        : await this.evaluateInCluster(this.cluster, call, payload);
    const reply = readReply(text);
    if (reply === null || reply[0] !== nonce || reply[2].length !== call.requestCount) {
      reconnect(this.redis);
      throw new Error('Redis answered a different call');
    }
    return { nowMs: reply[1], results: reply[2] };
  }

  close(): void {
    this.redis.disconnect();
  }

  private async evaluate(keys: readonly string[], payload: string): Promise<unknown> {
    try {
      if (this.isLeaving) await this.untilReady();
      const reply = await this.evaluateOnce(keys, payload).catch(async (error: unknown) => {
        if (!isNotPrimary(error)) throw error;
        await this.untilReady();
        return this.evaluateOnce(keys, payload);
      });
      this.timeouts = 0;
      return reply;
    } catch (error) {
      this.noteFailure(error);
      throw error;
    }
  }

  /**
   * The client follows redirections. A call may have been executed although its connection was lost: counting it twice
   * is safe, but returning an amount twice is not.
   */
  private async evaluateInCluster(cluster: Cluster, call: LimitCall, payload: string): Promise<unknown> {
    const timeoutMs = cluster.options.redisOptions?.commandTimeout ?? RECONNECT_WITHIN_MS;
    const endMs = performance.now() + timeoutMs;
    // A cluster routes calls by key.
    const keys = call.keys.length === 0 ? [NO_LIMITS_KEY] : call.keys;
    for (;;) {
      try {
        return await within(endMs - performance.now(), this.evaluateOnce(keys, payload), COMMAND_TIMED_OUT);
      } catch (error) {
        const isLate = performance.now() + CLUSTER_RETRY_MS >= endMs;
        if (isLate || call.returnsAmounts || !isConnectionLost(error)) throw error;
        cluster.refreshSlotsCache();
        await delay(CLUSTER_RETRY_MS);
      }
    }
  }

  private async evaluateOnce(keys: readonly string[], payload: string): Promise<unknown> {
    try {
      return await this.redis.evalsha(SCRIPT_SHA, keys.length, ...keys, payload);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.redis.eval(LIMIT_SCRIPT, keys.length, ...keys, payload);
    }
  }

  private async untilReady(): Promise<void> {
    await once(this.redis, 'ready', { signal: AbortSignal.timeout(RECONNECT_WITHIN_MS) });
  }

  private noteFailure(error: unknown): void {
    this.isLeaving = isNotPrimary(error);
    const timedOut = error instanceof Error && error.message === COMMAND_TIMED_OUT;
    this.timeouts = timedOut ? this.timeouts + 1 : 0;
    if (this.timeouts < MAX_TIMEOUTS) return;
    this.timeouts = 0;
    reconnect(this.redis);
  }
}

/** The messages of `ioredis` for a node that is gone, or not there yet. */
function isConnectionLost(error: unknown): boolean {
  return error instanceof Error && /^(?:Connection is closed\.|Cluster isn't ready|CLUSTERDOWN )/.test(error.message);
}

/** `[nonce, now, results]`; `null` for anything else. Lua has one kind of table, so no results read as an object. */
function readReply(text: unknown): readonly [string, number, readonly (readonly number[])[]] | null {
  if (typeof text !== 'string') return null;
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(reply) || typeof reply[0] !== 'string' || typeof reply[1] !== 'number') return null;
  return [reply[0], reply[1], Array.isArray(reply[2]) ? reply[2] : []];
}
