import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PeriodicTask } from '../time/periodic-task';
import { LocalStorage } from './local-storage';
import { OBJECT_STORAGE, type ObjectStorage } from './object-storage';
import { StoredObjectRepository } from './stored-object.repository';
import { StoredObjects } from './stored-objects';

const PAUSE_MS = 5 * 60_000;
const BATCH = 100;

/** Deletes expired outputs. All processes share the work by claiming rows. */
@Injectable()
export class RetentionSweeperService implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(RetentionSweeperService.name);
  private readonly task: PeriodicTask;
  /** Logged once until a sweep succeeds again. */
  private failing = false;

  constructor(
    @Inject(OBJECT_STORAGE) private readonly storage: ObjectStorage | null,
    private readonly repository: StoredObjectRepository,
    private readonly objects: StoredObjects,
  ) {
    this.task = new PeriodicTask({
      pauseMs: () => PAUSE_MS,
      run: async () => {
        await this.sweep();
      },
      onError: (error) => this.noteFailure(error),
    });
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
      if (claimed.length < BATCH) break;
    }
    this.failing = false;
    return total;
  }

  onApplicationBootstrap(): void {
    if (this.storage !== null) void this.task.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.task.stop();
  }

  private noteFailure(error: unknown): void {
    if (this.failing) return;
    this.failing = true;
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    this.logger.warn({
      event: 'retention_sweep_failed',
      message: `Expired outputs cannot be deleted: ${String(cause)}`,
    });
  }
}
