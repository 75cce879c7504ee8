import { InjectQueue } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { QueueConnection } from '../core/queue/queue-connection';
import { WakeUpQueue } from '../core/queue/wake-up-queue';

/** Entries carry only delivery ids; the due times are in the rows. */
export const WEBHOOK_QUEUE = 'webhooks';

/** Wakes a delivering process for a delivery. Call it after the delivery is committed. */
@Injectable()
export class WebhookWakeUps extends WakeUpQueue {
  constructor(@InjectQueue(WEBHOOK_QUEUE) queue: Queue, connection: QueueConnection) {
    super(queue, connection);
  }
}
