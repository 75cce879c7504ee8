import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RedisSubscription } from '../core/redis/redis-subscription';
import { REDIS } from '../core/redis/redis.module';
import { ModelCatalogService } from './model-catalog.service';

const CATALOG_CHANGE_CHANNEL = 'gateway:catalog';

/**
 * Makes every process reload the catalogue. Call it after the change is committed. Never rejects: without Redis the next
 * periodic refresh applies the change within 30 seconds.
 */
export async function publishCatalogChange(transport: {
  publish(channel: string, message: string): Promise<unknown>;
}): Promise<void> {
  await transport.publish(CATALOG_CHANGE_CHANNEL, 'changed').catch(() => undefined);
}

/** Refreshes the snapshot of this process on change messages. Without Redis, the periodic refresh applies changes. */
@Injectable()
export class CatalogChangeListener implements OnModuleInit, OnModuleDestroy {
  private readonly subscription: RedisSubscription;

  constructor(@Inject(REDIS) redis: Redis, catalog: ModelCatalogService) {
    const refresh = (): void => void catalog.refresh();
    this.subscription = new RedisSubscription(redis, CATALOG_CHANGE_CHANNEL, {
      onMessage: refresh,
      onListening: refresh,
    });
  }

  onModuleInit(): void {
    this.subscription.start();
  }

  onModuleDestroy(): void {
    this.subscription.stop();
  }
}
