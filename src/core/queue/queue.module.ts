import { Module } from '@nestjs/common';
import { WakeUpQueue } from './wake-up-queue';

/** Wakes workers for database rows. Invariant: a Redis failure or data loss loses no work. */
@Module({ providers: [WakeUpQueue], exports: [WakeUpQueue] })
export class QueueModule {}
