import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { leaseOwner } from '../../core/scheduling/task-lease';

/** A small batch keeps each statement short. */
const BATCH = 500;

/** Deletes expired records and orphaned bodies. See `idempotency_sweep`. */
@Injectable()
export class IdempotencySweeperService implements OnModuleDestroy {
  private readonly logger = new Logger(IdempotencySweeperService.name);
  private readonly owner = leaseOwner();
  private stopped = false;

  constructor(private readonly dataSource: DataSource) {}

  onModuleDestroy(): void {
    this.stopped = true;
  }

  @Cron(CronExpression.EVERY_10_MINUTES, scheduled('idempotency'))
  sweepScheduled(): Promise<void> {
    const failure = { event: 'idempotency_sweep_failed', message: 'the idempotency sweep failed' };
    return logFailure(this.logger, failure, () => this.sweep());
  }

  /** Resolves when nothing is left to delete, or another process runs the sweep. */
  async sweep(): Promise<void> {
    let removed: number;
    do {
      const rows = await this.dataSource.query<{ removed: number }[]>('SELECT idempotency_sweep($1, $2) AS removed', [
        BATCH,
        this.owner,
      ]);
      removed = rows[0]?.removed ?? 0;
    } while (removed > 0 && !this.stopped);
  }
}
