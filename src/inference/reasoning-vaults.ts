import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { REDIS } from '../core/redis/redis.module';
import type { ReasoningVault } from '../providers/contract/reasoning-vault';

/** Longer than the steps of a tool loop take, a person who approves one included. */
const LIFETIME_SECONDS = 6 * 3_600;
const MAX_STATE_BYTES = 65_536;
/** Providers issue ids of at most 64 characters; longer ones were made by a client. */
const MAX_ID_LENGTH = 256;
/** The newest steps of a conversation; limits what one request can read to 8 MiB. */
const MAX_LOADED = 128;

/** The reasoning vaults of all processes, in Redis. */
@Injectable()
export class ReasoningVaults {
  constructor(@Inject(REDIS) private readonly redis: Redis) {}

  /** Sends no command until it is used. */
  of(organizationId: string, deploymentId: string): ReasoningVault {
    return new RedisReasoningVault(this.redis, organizationId, deploymentId);
  }
}

/** The keys of a vault share a hash tag, so that a cluster can read several at once. */
class RedisReasoningVault implements ReasoningVault {
  private static readonly logger = new Logger('ReasoningVault');

  constructor(
    private readonly redis: Redis,
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
      await this.redis.set(this.keyOf(toolCallId), state, 'EX', LIFETIME_SECONDS);
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
      const states = await this.redis.mget(ids.map((id) => this.keyOf(id)));
      states.forEach((state, at) => {
        if (state !== null) found.set(ids[at] as string, state);
      });
    } catch (error) {
      this.warn('reasoning_not_loaded', 'reasoning could not be loaded', { err: error });
    }
    return found;
  }

  private keyOf(toolCallId: string): string {
    return `{gateway:reasoning:${this.organizationId}:${this.deploymentId}}:${toolCallId}`;
  }

  private warn(event: string, message: string, facts: Readonly<Record<string, unknown>>): void {
    RedisReasoningVault.logger.warn({ event, message, deployment: this.deploymentId, ...facts });
  }
}
