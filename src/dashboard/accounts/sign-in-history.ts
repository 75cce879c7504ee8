import { Inject, Injectable } from '@nestjs/common';
import type { RedisClient } from '../../core/redis/redis-client';
import { CLOCK, type Clock } from '../../core/time/clock';
import { uuidV7 } from '../../core/types/ids';
import { digest, networkOf } from '../../auth/rate-limits/attempt-log';
import { LOGIN_WINDOW_MS, type SignInHistory } from './attempt-logs';
import { REDIS } from '../../core/redis/redis.module';

const KNOWN_NETWORK_MS = 30 * 24 * 3_600_000;
const NONE: SignInHistory = { isKnownNetwork: false, resetId: null };

/** Stores in Redis the networks that accounts signed in from, and recent password resets. Empty while Redis is down. */
@Injectable()
export class SignInHistoryStore {
  constructor(
    @Inject(REDIS) private readonly redis: Pick<RedisClient, 'get' | 'set'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Never throws. */
  async find(emailKey: string, address: string | null): Promise<SignInHistory> {
    try {
      // Two commands, because a cluster may hold the keys on different nodes.
      const [network, resetId] = await Promise.all([
        this.redis.get(networkKey(emailKey, address)),
        this.redis.get(resetKey(emailKey)),
      ]);
      return { isKnownNetwork: network !== null, resetId };
    } catch {
      return NONE;
    }
  }

  /** Never throws. */
  async addNetwork(emailKey: string, address: string | null): Promise<void> {
    await this.redis.set(networkKey(emailKey, address), '1', 'PX', KNOWN_NETWORK_MS).catch(() => undefined);
  }

  /** Never throws. */
  async addReset(emailKey: string): Promise<void> {
    const resetId = uuidV7(this.clock.now());
    await this.redis.set(resetKey(emailKey), resetId, 'PX', LOGIN_WINDOW_MS).catch(() => undefined);
  }
}

function networkKey(emailKey: string, address: string | null): string {
  return `sign-in:network:${digest(emailKey)}:${address === null ? 'unknown' : networkOf(address)}`;
}

function resetKey(emailKey: string): string {
  return `sign-in:reset:${digest(emailKey)}`;
}
