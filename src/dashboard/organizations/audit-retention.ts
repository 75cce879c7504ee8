import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { CLOCK, type Clock } from '../../core/time/clock';

const DAY_MS = 86_400_000;
/** Entries that one statement locks: few enough that it stays short and nothing waits for its locks. */
const BATCH = 500;

/** Ids rise with time, so the oldest entries are the first ones of the primary key. Processes share the work. */
const DELETE_OLDEST = `
  WITH oldest AS (SELECT id, created_at FROM audit_entry ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
  DELETE FROM audit_entry e USING oldest WHERE e.id = oldest.id AND oldest.created_at < $1`;

/**
 * Deletes audit entries older than `AUDIT_RETENTION_DAYS`. The database refuses to delete those of the last 90 days.
 */
@Injectable()
export class AuditRetention implements OnModuleDestroy {
  private readonly logger = new Logger('AuditLog');
  private stopping = false;

  constructor(
    private readonly dataSource: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'auditRetentionDays'>,
  ) {}

  onModuleDestroy(): void {
    this.stopping = true;
  }

  @Cron(CronExpression.EVERY_HOUR, scheduled('audit-log.retention'))
  async deleteScheduled(): Promise<void> {
    const failure = { event: 'audit_retention_failed', message: 'expired audit entries could not be deleted' };
    await logFailure(this.logger, failure, () => this.deleteExpired());
  }

  /** Resolves when no entries are older than the retention, except those that another process is deleting. */
  async deleteExpired(): Promise<void> {
    const { auditRetentionDays } = this.config;
    if (auditRetentionDays === 0) return;
    const before = new Date(this.clock.now() - auditRetentionDays * DAY_MS);
    while (!this.stopping && (await this.deleteOldest(before)) === BATCH);
  }

  /** The number of entries deleted, at most {@link BATCH}. */
  private async deleteOldest(before: Date): Promise<number> {
    const [, deleted] = await this.dataSource.query<[unknown[], number]>(DELETE_OLDEST, [before]);
    return deleted;
  }
}
