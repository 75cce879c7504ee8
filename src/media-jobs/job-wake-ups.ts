import { InjectQueue } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { QueueConnection } from '../core/queue/queue-connection';
import { WakeUpQueue } from '../core/queue/wake-up-queue';

/** Entries carry only job ids; the due times are in the rows. */
export const MEDIA_JOB_QUEUE = 'media-jobs';

/** Wakes a worker for a job. */
@Injectable()
export class JobWakeUps extends WakeUpQueue {
  constructor(@InjectQueue(MEDIA_JOB_QUEUE) queue: Queue, connection: QueueConnection) {
    super(queue, connection);
  }
}
