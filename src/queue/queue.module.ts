import { Module } from '@nestjs/common';
import { WakeUpQueue } from './wake-up-queue';

/** Wakes those who work on rows. Invariant: nothing is lost with Redis, whatever happens to it. */
@Module({ providers: [WakeUpQueue], exports: [WakeUpQueue] })
export class QueueModule {}
