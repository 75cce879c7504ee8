import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RedisSubscription } from '../redis/redis-subscription';
import { REDIS } from '../redis/redis.module';
import { WebhookDeliveryService } from './webhook-delivery.service';

const DUE_DELIVERY_CHANNEL = 'gateway:webhooks';

/**
 * Tells every process that delivers to look at once. Call it after the delivery is committed. Never rejects: without
 * Redis the delivery is found by the next look, within a second.
 */
export async function publishDueDelivery(transport: {
  publish(channel: string, message: string): Promise<unknown>;
}): Promise<void> {
  await transport.publish(DUE_DELIVERY_CHANNEL, 'due').catch(() => undefined);
}

/** Looks for deliveries when told that somebody has asked for one. Without Redis, the look of every second does. */
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
