import { InjectQueue } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { QueueConnection } from '../core/queue/queue-connection';
import { WakeUpQueue } from '../core/queue/wake-up-queue';

/** Its entries carry only the ids of deliveries; the rows hold the due times. */
export const WEBHOOK_QUEUE = 'webhooks';

/** Wakes a delivering process for a delivery. Call it after the delivery is committed. */
@Injectable()
export class WebhookWakeUps extends WakeUpQueue {
  constructor(@InjectQueue(WEBHOOK_QUEUE) queue: Queue, connection: QueueConnection) {
    super(queue, connection);
  }
}
