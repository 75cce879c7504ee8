import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { describeCause } from '../errors/gateway-error';
import { scheduled } from '../scheduling/scheduling.module';
import { LocalStorage } from './local-storage';
import { OBJECT_STORAGE, type ObjectStorage } from './object-storage';
import { StoredObjectRepository } from './stored-object.repository';
import { StoredObjects } from './stored-objects';

const BATCH = 100;

/** Deletes expired outputs. All processes share the work by claiming rows. */
@Injectable()
export class RetentionSweeperService implements OnModuleDestroy {
  private readonly logger = new Logger(RetentionSweeperService.name);
  private stopped = false;
  /** Logged once until a sweep succeeds again. */
  private failing = false;

  constructor(
    @Inject(OBJECT_STORAGE) private readonly storage: ObjectStorage | null,
    private readonly repository: StoredObjectRepository,
    private readonly objects: StoredObjects,
  ) {}

  onModuleDestroy(): void {
    this.stopped = true;
  }

  @Cron(CronExpression.EVERY_5_MINUTES, scheduled('storage.retention'))
  async sweepScheduled(): Promise<void> {
    if (this.storage === null) return;
    await this.sweep().catch((error: unknown) => this.noteFailure(error));
  }

  /** Returns the number of deleted outputs. Failed deletions are retried after their claim ends. */
  async sweep(): Promise<number> {
    if (this.storage instanceof LocalStorage) await this.storage.removeAbandonedDrafts();
    let total = 0;
    for (;;) {
      const claimed = await this.repository.claimDue(BATCH);
      const { deleted, failures } = await this.objects.deleteClaimed(claimed);
      total += deleted;
      if (failures.length > 0) {
        this.noteFailure(failures[0]);
        return total;
      }
      if (claimed.length < BATCH || this.stopped) break;
    }
    this.failing = false;
    return total;
  }

  private noteFailure(error: unknown): void {
    if (this.failing) return;
    this.failing = true;
    this.logger.warn({
      event: 'retention_sweep_failed',
      message: `expired outputs cannot be deleted: ${describeCause(error)}`,
    });
  }
}
