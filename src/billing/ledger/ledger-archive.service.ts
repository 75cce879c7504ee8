import { createHash, type Hash, randomUUID } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Cron, CronExpression } from '@nestjs/schedule';
import type { Pool } from 'pg';
import { APP_CONFIG, type AppConfig } from '../../core/config/app-config';
import { cancelOnAbort } from '../../core/database/cancel-on-abort';
import { MONEY_POOL } from '../../core/database/money-pool';
import { Metrics } from '../../core/observability/metrics/catalogue';
import { type DayPartition, DayPartitions } from '../../core/partitions/day-partitions';
import { logFailure, scheduled } from '../../core/scheduling/scheduling.module';
import { OBJECT_STORAGE, type ObjectStorage } from '../../core/storage/object-storage';
import { CLOCK, type Clock } from '../../core/time/clock';
import { ArchiveMismatchError, totalOf, verifyArchivedDay } from './archived-day';
import { LedgerArchiveRepository } from './ledger-archive.repository';
import { readViolations } from './ledger-checks';

const TABLE = 'ended_reservation';
/** About 2 MB of JSON. */
const PAGE_ROWS = 5_000;
/** Much shorter than a claim lasts. */
const RENEW_AFTER_MS = 60_000;
/** For the requests of one day: a million take less than 20 s. */
const VERIFY_TIMEOUT_MS = 300_000;
/** For reading an object back: 10 million requests take several minutes. */
const READ_TIMEOUT_MS = 3_600_000;

/**
 * - `archived`: the day is in object storage and verified there;
 * - `claimed`: another process is exporting it;
 * - `broken`: its requests or its object differ from the closing, so it stays in the database.
 */
export type Archiving = 'archived' | 'claimed' | 'broken';

/**
 * Moves closed days from the database to object storage, oldest first (README, "Archived days"). Exports a day, reads
 * it back, compares it with the closing, and only then lets its partition be removed. Runs in every process; a claim
 * decides which process exports a day.
 */
@Injectable()
export class LedgerArchiveService implements OnModuleDestroy {
  private readonly logger = new Logger(LedgerArchiveService.name);
  private readonly stopping = new AbortController();
  private readonly owner = randomUUID();

  constructor(
    private readonly repository: LedgerArchiveRepository,
    private readonly partitions: DayPartitions,
    @Inject(MONEY_POOL) private readonly pool: Pool,
    @Inject(OBJECT_STORAGE) private readonly storage: ObjectStorage | null,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'monotonic'>,
    @Inject(APP_CONFIG) private readonly config: Pick<AppConfig, 'ledgerRetentionDays'>,
    private readonly metrics: Metrics,
  ) {}

  /** Aborts an export in progress. */
  onModuleDestroy(): void {
    this.stopping.abort();
  }

  @Cron(CronExpression.EVERY_HOUR, scheduled('billing.archive'))
  async archiveScheduled(): Promise<void> {
    const failure = { event: 'ledger_archive_failed', message: 'a day of the ledger could not be archived' };
    await logFailure(this.logger, failure, async () => {
      await this.archive().catch((error: unknown) => {
        if (!this.stopping.signal.aborted) throw error;
      });
    });
  }

  /**
   * Archives every day that is old enough and removes the partitions of archived days. Resolves with the outcome of
   * each day.
   */
  async archive(): Promise<Archiving[]> {
    const { storage } = this;
    const { ledgerRetentionDays: retentionDays } = this.config;
    if (storage === null || retentionDays === 0) return [];
    const archivings: Archiving[] = [];
    while (!this.stopping.signal.aborted) {
      await this.removePartitions();
      const day = await this.repository.findDue(retentionDays);
      if (day === null) break;
      const archiving = await this.archiveDay(storage, day);
      archivings.push(archiving);
      if (archiving !== 'archived') break;
    }
    return archivings;
  }

  private async archiveDay(storage: ObjectStorage, day: string): Promise<Archiving> {
    if (!(await this.repository.claim(day, this.owner))) return 'claimed';
    try {
      await this.requireSound(day);
      await this.export(storage, day);
      this.metrics.ledgerArchives.of('archived').inc();
      return 'archived';
    } catch (error) {
      await this.repository.giveBack(day, this.owner).catch(() => undefined);
      this.metrics.ledgerArchives.of('failed').inc();
      if (!(error instanceof ArchiveMismatchError)) throw error;
      const message = `a day of the ledger stays in the database, because its archive is not exact: ${error.message}`;
      this.logger.error({ event: 'ledger_archive_broken', day, message });
      return 'broken';
    }
  }

  private async export(storage: ObjectStorage, day: string): Promise<void> {
    const key = await this.repository.objectKeyOf(day);
    const closings = await this.repository.readClosings(day);
    const requests = Number(totalOf(closings.values()).reservationCount);
    const written = createHash('sha256');
    const lines = Readable.from(this.readLines(day, requests, written));
    // A failure of either stream destroys the other.
    const { sizeBytes } = await storage.put(
      key,
      pipeline(lines, createGzip(), () => undefined),
    );

    await this.repository.renew(day, this.owner);
    const signal = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(READ_TIMEOUT_MS)]);
    const content = await verifyArchivedDay(await storage.open(key, signal), {
      contentDigest: written.digest(),
      closings,
    });
    await this.repository.complete(day, this.owner, { key, sizeBytes }, content);
    const facts = { day, object_key: key, requests, bytes: sizeBytes };
    this.logger.log({ event: 'ledger_day_archived', ...facts, message: 'a day of the ledger is archived' });
  }

  /**
   * Fails unless the day was read to its end while the claim was held. A process that has lost the claim may read fewer
   * lines, because the rows are being removed, and must not replace the object that the other process has verified.
   */
  private async *readLines(day: string, requests: number, written: Hash): AsyncGenerator<Buffer, void> {
    let renewedAtMs = this.clock.monotonic();
    let count = 0;
    for await (const lines of this.repository.readLines(day, PAGE_ROWS)) {
      this.stopping.signal.throwIfAborted();
      if (this.clock.monotonic() - renewedAtMs > RENEW_AFTER_MS) {
        await this.repository.renew(day, this.owner);
        renewedAtMs = this.clock.monotonic();
      }
      const bytes = Buffer.from(lines.text);
      count += lines.count;
      written.update(bytes);
      yield bytes;
    }
    await this.repository.renew(day, this.owner);
    if (count !== requests) throw new ArchiveMismatchError(`${count} of ${requests} requests were read`);
  }

  /**
   * @throws ArchiveMismatchError when the requests differ from those that were closed, or contradict their jobs or
   *   receipts
   */
  private async requireSound(day: string): Promise<void> {
    const client = await this.pool.connect();
    const cancellation = cancelOnAbort(this.pool, client, this.stopping.signal);
    try {
      await client.query('BEGIN READ ONLY');
      const check = { view: 'archiving_violations', day } as const;
      const [violation] = await readViolations(client, check, VERIFY_TIMEOUT_MS);
      await client.query('COMMIT');
      if (violation !== undefined) throw new ArchiveMismatchError(`${violation.invariant}: ${violation.subject}`);
    } catch (error) {
      cancellation.destroy();
      throw error;
    } finally {
      cancellation.end();
    }
  }

  /** Removes the partitions whose days are all archived, including earlier days without requests. */
  private async removePartitions(): Promise<void> {
    const keptFrom = await this.repository.keptFrom();
    if (keptFrom === null) return;
    const partitions = await this.partitions.list(TABLE);
    // Detached partitions first: PostgreSQL cannot detach a partition while another detachment is interrupted.
    const detachedFirst = partitions.toSorted(
      (one, other) => Number(one.state === 'attached') - Number(other.state === 'attached'),
    );
    for (const partition of detachedFirst) {
      if (this.stopping.signal.aborted) return;
      if (await this.mayRemove(partition, keptFrom)) await this.partitions.remove(TABLE, partition);
    }
    await this.repository.noteRemoved();
  }

  private async mayRemove({ name, endDay, state }: DayPartition, keptFrom: string): Promise<boolean> {
    if (state === 'attached' && (endDay === null || endDay > keptFrom)) return false;
    return this.repository.isArchived(name);
  }
}
