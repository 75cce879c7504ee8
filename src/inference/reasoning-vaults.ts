import { Inject, Injectable, Logger } from '@nestjs/common';
import type { ChainableCommander } from 'ioredis';
import type { RedisClient } from '../core/redis/redis-client';
import { REDIS } from '../core/redis/redis.module';
import { SecretBox } from '../core/secrets/secret-box';
import type { ReasoningVault } from '../providers/contract/reasoning-vault';

/** Time since the last use. Longer than a step of a tool loop, including human approval. */
const LIFETIME_MS = 6 * 3_600_000;
/** Per organization; beyond it, the least recently used entries are evicted. Redis also holds all rate limits. */
const MAX_ORGANIZATION_BYTES = 16 * 1_048_576;
const MAX_STATE_BYTES = 65_536;
/** Providers issue ids of at most 64 characters; a client invented any longer than this. */
const MAX_ID_LENGTH = 256;
/** Only the newest steps of a conversation are loaded: at most 8 MiB of reasoning per request. */
const MAX_LOADED = 128;

/**
 * Each organization has a hash of entries, whose field '' is their total size in bytes, and a sorted set of the times
 * when they were last used, by Redis' clock.
 *
 * KEYS  entries, uses
 * ARGV  lifetime in milliseconds, then the arguments of the script
 */
const PREAMBLE = `
local entries, uses, lifetime = KEYS[1], KEYS[2], tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function expire()
  redis.call('PEXPIRE', entries, lifetime)
  redis.call('PEXPIRE', uses, lifetime)
end
`;

/** Makes room for a value, which the same transaction then writes. ARGV: maximum bytes, field, bytes of its value. */
const MAKE_ROOM_SCRIPT = `${PREAMBLE}
local OVERHEAD, MAX_REMOVED = 256, 1000
local most, field, bytes = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local function remove(name)
  local freed = redis.call('HSTRLEN', entries, name)
  if freed > 0 then redis.call('HINCRBY', entries, '', -(freed + OVERHEAD)) end
  redis.call('HDEL', entries, name)
  redis.call('ZREM', uses, name)
end
remove(field)
redis.call('ZADD', uses, now, field)
redis.call('HINCRBY', entries, '', bytes + OVERHEAD)
for _ = 1, MAX_REMOVED do
  local oldest = redis.call('ZRANGE', uses, 0, 0, 'WITHSCORES')
  local kept = tonumber(redis.call('HGET', entries, '')) <= most and tonumber(oldest[2]) > now - lifetime
  if kept or oldest[1] == field then break end
  remove(oldest[1])
end
expire()
`;

/** Marks fields as used. ARGV: fields. Returns 1 for each that may be read, else 0, even when Redis is full. */
const TOUCH_SCRIPT = `${PREAMBLE}
local found = {}
for at = 2, #ARGV do
  local used = redis.call('ZSCORE', uses, ARGV[at])
  local lives = used and tonumber(used) > now - lifetime
  found[at - 1] = lives and 1 or 0
  if lives then redis.pcall('ZADD', uses, now, ARGV[at]) end
end
expire()
return found
`;

/**
 * Keeps reasoning in Redis for all processes. Entries are encrypted, because reasoning repeats prompts: with a key per
 * organization, and bound to their field, so that they cannot be swapped.
 */
@Injectable()
export class ReasoningVaults {
  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    private readonly box: SecretBox,
  ) {}

  /** Sends no command until the vault is used. */
  of(organizationId: string, deploymentId: string): ReasoningVault {
    const openBox = (): SecretBox => this.box.derive(`reasoning of ${organizationId}`);
    return new RedisReasoningVault(this.redis, openBox, organizationId, deploymentId);
  }
}

class RedisReasoningVault implements ReasoningVault {
  private static readonly logger = new Logger('ReasoningVault');
  private derived: SecretBox | null = null;

  /** @param openBox derives the key, which most calls do not need */
  constructor(
    private readonly redis: RedisClient,
    private readonly openBox: () => SecretBox,
    private readonly organizationId: string,
    private readonly deploymentId: string,
  ) {}

  async store(toolCallId: string, state: string): Promise<void> {
    if (toolCallId.length > MAX_ID_LENGTH) return;
    const bytes = Buffer.byteLength(state);
    if (bytes > MAX_STATE_BYTES) {
      this.warn('reasoning_too_large', 'reasoning is too large to be kept', { bytes });
      return;
    }
    try {
      const field = this.fieldOf(toolCallId);
      const sealed = this.box.seal(state, this.purposeOf(field));
      const [entries, uses] = this.keys;
      await execute(
        this.redis
          .multi()
          .eval(MAKE_ROOM_SCRIPT, 2, entries, uses, LIFETIME_MS, MAX_ORGANIZATION_BYTES, field, sealed.length)
          .hset(entries, field, sealed),
      );
    } catch (error) {
      this.warn('reasoning_not_stored', 'reasoning could not be stored', { err: error });
    }
  }

  async load(toolCallIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    const known = toolCallIds.filter(({ length }) => length <= MAX_ID_LENGTH);
    const ids = [...new Set(known)].slice(-MAX_LOADED);
    if (ids.length === 0) return found;
    try {
      const fields = ids.map((id) => this.fieldOf(id));
      const [entries, uses] = this.keys;
      const [alive, values] = (await execute(
        this.redis
          .multi()
          .eval(TOUCH_SCRIPT, 2, entries, uses, LIFETIME_MS, ...fields)
          .hmget(entries, ...fields),
      )) as [alive: number[], values: (string | null)[]];
      for (const [at, id] of ids.entries()) {
        const sealed = alive[at] === 1 ? (values[at] ?? null) : null;
        const state = sealed === null ? null : this.unsealEntry(sealed, fields[at] as string);
        if (state !== null) found.set(id, state);
      }
    } catch (error) {
      this.warn('reasoning_not_loaded', 'reasoning could not be loaded', { err: error });
    }
    return found;
  }

  private get box(): SecretBox {
    return (this.derived ??= this.openBox());
  }

  /** Returns `null`, as for an expired entry, when its key is no longer set or the entry was changed. */
  private unsealEntry(sealed: string, field: string): string | null {
    try {
      return this.box.unseal(sealed, this.purposeOf(field));
    } catch (error) {
      this.warn('reasoning_unreadable', 'stored reasoning could not be opened', { err: error });
      return null;
    }
  }

  /** Both keys share a hash tag, because one script uses both. */
  private get keys(): [entries: string, uses: string] {
    const tag = `{gateway:reasoning:${this.organizationId}}`;
    return [`${tag}:entries`, `${tag}:uses`];
  }

  private fieldOf(toolCallId: string): string {
    return `${this.deploymentId}:${toolCallId}`;
  }

  private purposeOf(field: string): string {
    return `reasoning of ${this.organizationId}: ${field}`;
  }

  private warn(event: string, message: string, facts: Readonly<Record<string, unknown>>): void {
    RedisReasoningVault.logger.warn({ event, message, deployment: this.deploymentId, ...facts });
  }
}

/** The replies of a transaction. @throws the first error among them */
async function execute(transaction: ChainableCommander): Promise<unknown[]> {
  const replies = (await transaction.exec()) ?? [];
  for (const [error] of replies) if (error !== null) throw error;
  return replies.map(([, reply]) => reply);
}
