import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { REDIS } from '../core/redis/redis.module';
import { SecretBox } from '../core/secrets/secret-box';
import type { ReasoningVault } from '../providers/contract/reasoning-vault';

/** Longer than the steps of a tool loop take, a person who approves one included. */
const LIFETIME_SECONDS = 6 * 3_600;
const MAX_STATE_BYTES = 65_536;
/** Providers issue ids of at most 64 characters; longer ones were made by a client. */
const MAX_ID_LENGTH = 256;
/** The newest steps of a conversation; limits what one request can read to 8 MiB. */
const MAX_LOADED = 128;

/**
 * The reasoning vaults of all processes, in Redis. Entries are sealed with a key of the organization, each for its own
 * place, because reasoning repeats what prompts say.
 */
@Injectable()
export class ReasoningVaults {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    private readonly box: SecretBox,
  ) {}

  /** Sends no command until it is used. */
  of(organizationId: string, deploymentId: string): ReasoningVault {
    const openBox = (): SecretBox => this.box.derive(`reasoning of ${organizationId}`);
    return new RedisReasoningVault(this.redis, openBox, organizationId, deploymentId);
  }
}

/** The keys of a vault share a hash tag, so that a cluster can read several at once. */
class RedisReasoningVault implements ReasoningVault {
  private static readonly logger = new Logger('ReasoningVault');
  private derived: SecretBox | null = null;

  /** @param openBox derives the key, which most calls do not need */
  constructor(
    private readonly redis: Redis,
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
      const key = this.keyOf(toolCallId);
      await this.redis.set(key, this.box.seal(state, key), 'EX', LIFETIME_SECONDS);
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
      const keys = ids.map((id) => this.keyOf(id));
      const entries = await this.redis.mget(keys);
      entries.forEach((sealed, at) => {
        const state = sealed === null ? null : this.open(sealed, keys[at] as string);
        if (state !== null) found.set(ids[at] as string, state);
      });
    } catch (error) {
      this.warn('reasoning_not_loaded', 'reasoning could not be loaded', { err: error });
    }
    return found;
  }

  private get box(): SecretBox {
    return (this.derived ??= this.openBox());
  }

  /** `null` for an entry that was sealed under a key that is no longer set, or was changed: as if it had expired. */
  private open(sealed: string, key: string): string | null {
    try {
      return this.box.open(sealed, key);
    } catch (error) {
      this.warn('reasoning_unreadable', 'stored reasoning could not be opened', { err: error });
      return null;
    }
  }

  private keyOf(toolCallId: string): string {
    return `{gateway:reasoning:${this.organizationId}:${this.deploymentId}}:${toolCallId}`;
  }

  private warn(event: string, message: string, facts: Readonly<Record<string, unknown>>): void {
    RedisReasoningVault.logger.warn({ event, message, deployment: this.deploymentId, ...facts });
  }
}
