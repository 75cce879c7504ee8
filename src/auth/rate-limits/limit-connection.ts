import { createHash, randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { LimitCall, LimitReply } from './limit-call';
import { LIMIT_SCRIPT } from './limit-script';

const SCRIPT_SHA = createHash('sha1').update(LIMIT_SCRIPT).digest('hex');
/** Consecutive timeouts after which the connection counts as dead: calls to a vanished host never end. */
const MAX_TIMEOUTS = 4;

/**
 * The limiter's dedicated Redis connection. Every call carries a nonce that the script echoes: a reply to another call
 * admits no request, and the desynchronized connection is dropped.
 */
export class LimitConnection {
  private readonly prefix = randomBytes(6).toString('base64url');
  private calls = 0;
  private timeouts = 0;

  constructor(private readonly redis: Redis) {
    // The connection retries indefinitely, and the shared one reports the Redis outage.
    redis.on('error', () => undefined);
  }

  /** Calls `listener` whenever Redis is reachable again. */
  onReady(listener: () => void): void {
    this.redis.on('ready', listener);
  }

  /** @throws Error when Redis does not answer within the connection's command timeout, or sends an invalid reply. */
  async run(call: LimitCall): Promise<LimitReply> {
    const nonce = `${this.prefix}${this.calls++}`;
    const text = await this.evaluate(call.keys, call.encode(nonce));
    const reply = readReply(text);
    if (reply === null || reply[0] !== nonce || reply[2].length !== call.requestCount) {
      this.redis.disconnect(true);
      throw new Error('Redis answered a different call');
    }
    return { nowMs: reply[1], results: reply[2] };
  }

  close(): void {
    this.redis.disconnect();
  }

  private async evaluate(keys: readonly string[], payload: string): Promise<unknown> {
    try {
      const reply = await this.evaluateOnce(keys, payload);
      this.timeouts = 0;
      return reply;
    } catch (error) {
      this.noteFailure(error);
      throw error;
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

  private noteFailure(error: unknown): void {
    const timedOut = error instanceof Error && error.message === 'Command timed out';
    this.timeouts = timedOut ? this.timeouts + 1 : 0;
    if (this.timeouts < MAX_TIMEOUTS) return;
    this.timeouts = 0;
    this.redis.disconnect(true);
  }
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
