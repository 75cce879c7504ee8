import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { onceReachable } from '../database/once-reachable';
import { QueueConnection, readQueuePrefix } from './queue-connection';

const QUEUE_PREFIX = Symbol('QueuePrefix');

/**
 * The prefix is a separate provider, because `BullModule` treats its configuration as optional: if creating it failed,
 * queues would use a default connection instead of failing the start.
 */
@Module({
  providers: [
    QueueConnection,
    {
      provide: QUEUE_PREFIX,
      inject: [DataSource],
      useFactory: (dataSource: DataSource) => onceReachable(() => readQueuePrefix(dataSource)),
    },
  ],
  exports: [QueueConnection, QUEUE_PREFIX],
})
class QueueConnectionModule {}

/**
 * BullMQ on the Redis of the gateway, for modules that register a queue. Queues only wake workers for database rows:
 * a Redis failure or data loss loses no work (`README.md`).
 */
@Module({
  imports: [
    QueueConnectionModule,
    BullModule.forRootAsync({
      imports: [QueueConnectionModule],
      inject: [QueueConnection, QUEUE_PREFIX],
      useFactory: ({ redis }: QueueConnection, prefix: string) => ({
        connection: redis,
        prefix,
        // BullMQ writes its settings once; `WakeUpQueue` does so again for a Redis that has lost its data.
        skipMetasUpdate: true,
        // The row decides whether work is repeated. A kept entry would suppress the next entry of the same row.
        defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      }),
    }),
  ],
  exports: [QueueConnectionModule],
})
export class QueueModule {}
