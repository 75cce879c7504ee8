import { type BeforeApplicationShutdown, Injectable, type Logger, Module, type OnModuleDestroy } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';

export const EVERY_SECOND = '* * * * * *';
export const EVERY_2_SECONDS = '*/2 * * * * *';
export const EVERY_5_SECONDS = '*/5 * * * * *';

/** Options of a `@Cron` method: named, and never run concurrently by one process. */
export const scheduled = (name: string) => ({ name, waitForCompletion: true });

/** Runs scheduled work. A failure is logged and not thrown, since the next run repeats the work. */
export async function logFailure(
  logger: Logger,
  { event, message }: { readonly event: string; readonly message: string },
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    logger.warn({ event, message, err: error });
  }
}

/**
 * Ends the scheduled work on shutdown. Nest's scheduler stops its timers but does not wait for the runs under way, which
 * need the connections that are closed next. Long runs end early on `onModuleDestroy` of their class.
 */
@Injectable()
class ScheduledWork implements OnModuleDestroy, BeforeApplicationShutdown {
  private ending: Promise<unknown> = Promise.resolve();

  constructor(private readonly registry: SchedulerRegistry) {}

  onModuleDestroy(): void {
    this.ending = Promise.all([...this.registry.getCronJobs().values()].map((job) => job.stop()));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.ending;
  }
}

/** Nest's scheduler, for modules with `@Cron` methods. */
@Module({ imports: [ScheduleModule.forRoot()], providers: [ScheduledWork] })
export class SchedulingModule {}
