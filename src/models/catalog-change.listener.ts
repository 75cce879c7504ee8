import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RedisSubscription } from '../redis/redis-subscription';
import { REDIS } from '../redis/redis.module';
import { ModelCatalogService } from './model-catalog.service';

const CATALOG_CHANGE_CHANNEL = 'gateway:catalog';

/**
 * Tells every process to read the catalogue anew. Call it after the change is committed. Never rejects: without Redis
 * the change is noticed by the next periodic refresh, within 30 seconds.
 */
export async function publishCatalogChange(transport: {
  publish(channel: string, message: string): Promise<unknown>;
}): Promise<void> {
  await transport.publish(CATALOG_CHANGE_CHANNEL, 'changed').catch(() => undefined);
}

/** Refreshes this process's snapshot when told. Without Redis, the periodic refresh does. */
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
