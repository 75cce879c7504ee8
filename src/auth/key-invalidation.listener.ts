import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RedisSubscription } from '../redis/redis-subscription';
import { REDIS } from '../redis/redis.module';
import { ApiKeyVerifier } from './api-key-verifier';
import { decodeKeyInvalidation, KEY_INVALIDATION_CHANNEL } from './key-invalidation';

/** Makes this process forget what others have changed. Without Redis, changes are noticed when cache entries run out. */
@Injectable()
export class KeyInvalidationListener implements OnModuleInit, OnModuleDestroy {
  private readonly subscription: RedisSubscription;

  constructor(@Inject(REDIS) redis: Redis, verifier: ApiKeyVerifier) {
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
