import {
  type BeforeApplicationShutdown,
  Injectable,
  type Logger,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { describeCause } from '../errors/gateway-error';

export const EVERY_SECOND = '* * * * * *';
export const EVERY_2_SECONDS = '*/2 * * * * *';
export const EVERY_3_SECONDS = '*/3 * * * * *';
export const EVERY_5_SECONDS = '*/5 * * * * *';

/** Options of a `@Cron` method: named, never run concurrently by one process, and not keeping the process alive. */
export const scheduled = (name: string) => ({ name, waitForCompletion: true, unrefTimeout: true });

/** Runs scheduled work. A failure is logged and not thrown: the next run repeats the work. */
export async function logFailure(
  logger: Logger,
  { event, message }: { readonly event: string; readonly message: string },
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    logger.warn({ event, message, failure: describeCause(error) });
  }
}

/**
 * Runs all scheduled work once at startup, because Nest's scheduler waits for the first tick. On shutdown, waits for
 * the current runs: the scheduler only stops its timers, but the runs need the connections that are closed next. Long
 * runs end early in `onModuleDestroy` of their class.
 */
@Injectable()
class ScheduledWork implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private ending: Promise<unknown> = Promise.resolve();

  constructor(private readonly registry: SchedulerRegistry) {}

  onApplicationBootstrap(): void {
    for (const job of this.registry.getCronJobs().values()) void job.fireOnTick();
  }

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
