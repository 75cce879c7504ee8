import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { PeriodicTask } from '../../core/time/periodic-task';
import { IDEMPOTENCY_OPTIONS, type IdempotencyOptions } from './idempotency-options';

/** A small batch keeps each statement short. */
const BATCH = 500;

/** Deletes expired records and orphaned bodies. See `idempotency_sweep`. */
@Injectable()
export class IdempotencySweeperService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(IdempotencySweeperService.name);
  private readonly task: PeriodicTask;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(IDEMPOTENCY_OPTIONS) options: IdempotencyOptions,
  ) {
    this.task = new PeriodicTask({
      pauseMs: () => options.sweepIntervalMs,
      run: () => this.sweep(),
      onError: (error) =>
        this.logger.warn({
          event: 'idempotency_sweep_failed',
          message: `The idempotency sweep failed: ${String(error)}`,
        }),
    });
  }

  /** Resolves when nothing is left to delete, or another process runs the sweep. */
  async sweep(): Promise<void> {
    let removed: number;
    do {
      const rows = await this.dataSource.query<{ removed: number }[]>('SELECT idempotency_sweep($1) AS removed', [
        BATCH,
      ]);
      removed = rows[0]?.removed ?? 0;
    } while (removed > 0);
  }

  onApplicationBootstrap(): void {
    void this.task.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.task.stop();
  }
}
