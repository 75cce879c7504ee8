import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RedisSubscription } from '../core/redis/redis-subscription';
import { REDIS } from '../core/redis/redis.module';
import { WebhookDeliveryService } from './webhook-delivery.service';

const DUE_DELIVERY_CHANNEL = 'gateway:webhooks';

/**
 * Wakes every delivering process. Call after the delivery is committed. Never rejects: without Redis the next poll finds
 * the delivery within a second.
 */
export async function publishDueDelivery(transport: {
  publish(channel: string, message: string): Promise<unknown>;
}): Promise<void> {
  await transport.publish(DUE_DELIVERY_CHANNEL, 'due').catch(() => undefined);
}

/** Wakes the delivery service on {@link publishDueDelivery}. Without Redis, its one-second poll finds the delivery. */
@Injectable()
export class DueDeliveryListener implements OnModuleInit, OnModuleDestroy {
  private readonly subscription: RedisSubscription;

  constructor(@Inject(REDIS) redis: Redis, deliveries: WebhookDeliveryService) {
    const wake = (): void => deliveries.wake();
    this.subscription = new RedisSubscription(redis, DUE_DELIVERY_CHANNEL, { onMessage: wake, onListening: wake });
  }

  onModuleInit(): void {
    this.subscription.start();
  }

  onModuleDestroy(): void {
    this.subscription.stop();
  }
}
