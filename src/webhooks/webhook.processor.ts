import { Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, type OnApplicationBootstrap } from '@nestjs/common';
import { QueueConnection } from '../core/queue/queue-connection';
import { WAKE_UP_WORKER_OPTIONS, WakeUpProcessor } from '../core/queue/wake-up-processor';
import type { WakeUp } from '../core/queue/wake-up-queue';
import { CLOCK, type Clock } from '../core/time/clock';
import { MAX_POSTS, WebhookDeliveryService } from './webhook-delivery.service';
import { WEBHOOK_QUEUE } from './webhook-wake-ups';

/** Posts deliveries on wake-ups. Without Redis, the sweep posts all of them. */
@Processor(WEBHOOK_QUEUE, WAKE_UP_WORKER_OPTIONS)
export class WebhookProcessor extends WakeUpProcessor implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(
    private readonly deliveries: WebhookDeliveryService,
    connection: QueueConnection,
    @Inject(CLOCK) clock: Clock,
  ) {
    super(connection, clock);
  }

  onApplicationBootstrap(): void {
    this.start(MAX_POSTS);
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.close();
  }

  protected handle(delivery: WakeUp): Promise<number | null> {
    return this.deliveries.deliver(delivery);
  }
}
