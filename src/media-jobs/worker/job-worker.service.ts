import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { WakeUpQueue } from '../../core/queue/wake-up-queue';
import type { WakeUpConsumer } from '../../core/queue/wake-up-consumer';
import { JobRoutes } from '../job-routes';
import { JobSweeps } from './job-sweeps';
import { JobRunner } from './job-runner';

/** Delay of a wake-up that found no free slot: its lane waits without blocking other lanes. */
const NO_SLOT_DELAY_MS = { least: 500, most: 1_500 };

/** Each has `WORKER_CONCURRENCY` slots (`job-runner.ts`). */
const POOLS = 2;

/** Runs jobs while the application runs: on wake-ups from Redis, and from sweeps for lost ones. */
@Injectable()
export class JobWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly concurrency: number;
  private consumer: WakeUpConsumer | null = null;
  private stopping: Promise<void> | null = null;

  constructor(
    private readonly runner: JobRunner,
    private readonly sweeps: JobSweeps,
    private readonly wakeUps: WakeUpQueue,
    private readonly routes: JobRoutes,
    @Inject(APP_CONFIG) { worker }: Pick<AppConfig, 'worker'>,
  ) {
    this.concurrency = worker.concurrency;
  }

  onApplicationBootstrap(): void {
    const hasProviders = this.routes.isImplemented('video') || this.routes.isImplemented('music');
    this.sweeps.start(hasProviders);
    if (hasProviders) this.consumer = this.listen();
  }

  /** {@link drain} without a grace period, for applications that did not call it. */
  beforeApplicationShutdown(): Promise<void> {
    return this.drain(0);
  }

  /**
   * Takes no more jobs and resolves when the steps under way have ended. After `timeoutMs` it releases jobs that other
   * processes can continue.
   */
  drain(timeoutMs: number): Promise<void> {
    this.stopping ??= this.stop(timeoutMs);
    return this.stopping;
  }

  private async stop(timeoutMs: number): Promise<void> {
    await Promise.all([this.runner.stop(timeoutMs), this.consumer?.stop(), this.sweeps.stop()]);
  }

  /** Without Redis, the sweeps run all steps. */
  private listen(): WakeUpConsumer {
    void this.wakeUps.open();
    return this.wakeUps.consume(async (wakeUp) => {
      const step = this.runner.begin(wakeUp);
      if (step === null) return noSlotDelayMs();
      await step;
      return null;
    }, POOLS * this.concurrency);
  }
}

function noSlotDelayMs(): number {
  const { least, most } = NO_SLOT_DELAY_MS;
  return least + Math.random() * (most - least);
}
