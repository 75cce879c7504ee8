import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { APP_CONFIG, type AppConfig } from '../../config/app-config';
import { WakeUpQueue } from '../../queue/wake-up-queue';
import type { WakeUpConsumer } from '../../queue/wake-up-consumer';
import { JobRoutes } from '../job-routes';
import { JobSweeps } from './job-sweeps';
import { JobTurns } from './job-turns';

/** A wake-up that found no place comes back after so long: its lane has to wait, the others have not. */
const NO_PLACE_PAUSE_MS = { least: 500, most: 1_500 };

/** Works on jobs for as long as the application runs: woken through Redis, and sweeping for what was not. */
@Injectable()
export class JobWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly concurrency: number;
  private consumer: WakeUpConsumer | null = null;
  private stopping: Promise<void> | null = null;

  constructor(
    private readonly turns: JobTurns,
    private readonly sweeps: JobSweeps,
    private readonly wakeUps: WakeUpQueue,
    private readonly routes: JobRoutes,
    @Inject(APP_CONFIG) { worker }: Pick<AppConfig, 'worker'>,
  ) {
    this.concurrency = worker.concurrency;
  }

  onApplicationBootstrap(): void {
    const hasMakers = this.routes.isImplemented('video') || this.routes.isImplemented('music');
    this.sweeps.start(hasMakers);
    if (hasMakers) this.consumer = this.listen();
  }

  /** As {@link drain}, for whoever has not called it: without waiting for anything that can be done elsewhere. */
  beforeApplicationShutdown(): Promise<void> {
    return this.drain(0);
  }

  /**
   * Takes no more jobs. Resolves when those that are worked on have come to the end of their turns; after `timeoutMs` they
   * are given back where others can go on with them.
   */
  drain(timeoutMs: number): Promise<void> {
    this.stopping ??= this.stop(timeoutMs);
    return this.stopping;
  }

  private async stop(timeoutMs: number): Promise<void> {
    const turns = this.turns.stop(timeoutMs);
    await Promise.all([turns, this.consumer?.stop(), this.sweeps.stop()]);
  }

  /** Without it the sweeps do the work. */
  private listen(): WakeUpConsumer {
    void this.wakeUps.open();
    return this.wakeUps.consume(async (wakeUp) => {
      const turn = this.turns.begin(wakeUp);
      if (turn === null) return noPlacePauseMs();
      await turn;
      return null;
    }, this.concurrency);
  }
}

function noPlacePauseMs(): number {
  const { least, most } = NO_PLACE_PAUSE_MS;
  return least + Math.random() * (most - least);
}
