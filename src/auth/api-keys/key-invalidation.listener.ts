import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { RedisClient } from '../../core/redis/redis-client';
import { RedisSubscription } from '../../core/redis/redis-subscription';
import { REDIS } from '../../core/redis/redis.module';
import { ApiKeyVerifier } from './api-key-verifier';
import { decodeKeyInvalidation, KEY_INVALIDATION_CHANNEL } from './key-invalidation';

/**
 * Evicts cache entries that other processes have changed. Without Redis, changes take effect when cache entries expire.
 */
@Injectable()
export class KeyInvalidationListener implements OnModuleInit, OnModuleDestroy {
  private readonly subscription: RedisSubscription;

  constructor(@Inject(REDIS) redis: RedisClient, verifier: ApiKeyVerifier) {
    this.subscription = new RedisSubscription(redis, KEY_INVALIDATION_CHANNEL, {
      onMessage: (message) => verifier.invalidate(decodeKeyInvalidation(message)),
      onListening: () => verifier.invalidate({ scope: 'all' }),
    });
  }

  onModuleInit(): void {
    this.subscription.start();
  }

  onModuleDestroy(): void {
    this.subscription.stop();
  }
}
