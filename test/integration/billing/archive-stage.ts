import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';
import { DEFAULT_BILLING_OPTIONS } from '../../../src/billing/ledger/billing-options';
import { LedgerArchiveRepository } from '../../../src/billing/ledger/ledger-archive.repository';
import { LedgerArchiveService } from '../../../src/billing/ledger/ledger-archive.service';
import { LedgerClosingService } from '../../../src/billing/ledger/ledger-closing.service';
import { Metrics } from '../../../src/core/observability/metrics/catalogue';
import { DayPartitions } from '../../../src/core/partitions/day-partitions';
import type { ObjectStorage } from '../../../src/core/storage/object-storage';
import { S3Storage } from '../../../src/core/storage/s3-storage';
import { systemClock } from '../../../src/core/time/clock';
import { openDataSource } from '../../harness/data-source';
import {
  copyTestDatabase,
  createTestDatabase,
  createTestPool,
  PATIENCE_MS,
  type TestDatabase,
} from '../../harness/database';
import { S3Server } from '../../harness/s3-server';
import { type MoneyEngine, startMoneyEngine } from './money-engine';
import { insertPastRequests, type PastRequests } from './past-requests';

export const RETENTION_DAYS = 30;

/** The parts of a process that archives days, which a test may replace. */
export interface ArchiveParts {
  readonly repository: LedgerArchiveRepository;
  readonly partitions: DayPartitions;
  readonly storage: ObjectStorage | null;
  readonly retentionDays: number;
  readonly metrics: Metrics;
}

export interface ArchiveStage {
  readonly url: string;
  readonly pool: Pool;
  readonly engine: MoneyEngine;
  readonly dataSource: DataSource;
  readonly storage: ObjectStorage;
  readonly repository: LedgerArchiveRepository;
  readonly partitions: DayPartitions;
  /** A process that archives days. */
  process(parts?: Partial<ArchiveParts>): LedgerArchiveService;
  closeDays(): Promise<void>;
  close(): Promise<void>;
}

export function openBucket(server: S3Server): Promise<S3Storage> {
  return S3Storage.create(
    {
      bucket: S3Server.BUCKET,
      region: 'us-east-1',
      endpoint: server.url,
      publicEndpoint: null,
      forcePathStyle: true,
      credentials: S3Server.CREDENTIALS,
      signedUrlTtlSeconds: 60,
    },
    systemClock,
  );
}

/**
 * Closed and open days of requests, each in a partition of its own but the oldest ones, which share
 * `ended_reservation_past`.
 * @param released so many more requests of the oldest day, which hardly compress. Late in the day, it has only one
 * without them.
 */
async function preparePastBooks(requests: Partial<PastRequests> = {}, released = 3): Promise<TestDatabase> {
  const database = await createTestDatabase();
  const engine = startMoneyEngine(database.url);
  const pool = createTestPool(database.url, 1);
  await partitionPast(pool, RETENTION_DAYS + 2);
  const past = { count: 3_400, days: RETENTION_DAYS + 5, organizations: 4, keysPerOrganization: 2, ...requests };
  await insertPastRequests(pool, past);
  await insertReleased(pool, released);
  await closeDays(engine.pool);
  await pool.end();
  await engine.close();
  return database;
}

async function closeDays(pool: Pool): Promise<void> {
  await new LedgerClosingService(pool, { ...DEFAULT_BILLING_OPTIONS, closingTimeoutMs: PATIENCE_MS }).close();
}

/** A process on {@link preparePastBooks} of its own. */
export async function startArchiveStage(
  storage: ObjectStorage,
  ...requests: Parameters<typeof preparePastBooks>
): Promise<ArchiveStage> {
  return openArchiveStage(storage, await preparePastBooks(...requests));
}

/** A process on these books, which it drops in the end. */
async function openArchiveStage(storage: ObjectStorage, database: TestDatabase): Promise<ArchiveStage> {
  const engine = startMoneyEngine(database.url);
  await engine.lease.renew();
  const pool = createTestPool(database.url, 3);
  const dataSource = await openDataSource(database.url, 3);
  const repository = new LedgerArchiveRepository(dataSource);
  const partitions = new DayPartitions(dataSource);
  return {
    url: database.url,
    pool,
    engine,
    dataSource,
    storage,
    repository,
    partitions,
    closeDays: () => closeDays(engine.pool),
    process: (parts = {}) => {
      const all = { repository, partitions, storage, retentionDays: RETENTION_DAYS, metrics: new Metrics(), ...parts };
      return new LedgerArchiveService(
        all.repository,
        all.partitions,
        engine.pool,
        all.storage,
        systemClock,
        { ledgerRetentionDays: all.retentionDays },
        all.metrics,
      );
    },
    close: async () => {
      await dataSource.destroy();
      await pool.end();
      await engine.close();
      await database.drop();
    },
  };
}

/** {@link preparePastBooks} and a bucket on a server of its own. Each stage is a process on a copy of the books. */
export class PastBooks {
  private constructor(
    private readonly server: S3Server,
    readonly bucket: S3Storage,
    private readonly database: TestDatabase,
  ) {}

  static async open(...requests: Parameters<typeof preparePastBooks>): Promise<PastBooks> {
    const server = await S3Server.start();
    return new PastBooks(server, await openBucket(server), await preparePastBooks(...requests));
  }

  async openStage(): Promise<ArchiveStage> {
    return openArchiveStage(this.bucket, await copyTestDatabase(this.database));
  }

  async close(): Promise<void> {
    await this.database.drop();
    this.bucket.close();
    await this.server.stop();
  }
}

/**
 * Gives each of the last `days` days before today a partition, as a gateway that has run since then would have. The
 * days since the template was migrated have theirs: one, when the tests began before midnight.
 */
async function partitionPast(pool: Pool, days: number): Promise<void> {
  await pool.query(
    `DO $$
     DECLARE
       v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
       v_end date := (SELECT day_of_id(end_id) FROM day_partition WHERE name = 'ended_reservation_past');
     BEGIN
       ALTER TABLE ended_reservation DETACH PARTITION ended_reservation_past;
       EXECUTE format('ALTER TABLE ended_reservation ATTACH PARTITION ended_reservation_past FOR VALUES FROM (MINVALUE) TO (%L)',
                      first_id_of(v_today - ${days}));
       FOR v_ago IN REVERSE ${days}..v_today - v_end + 1 LOOP
         EXECUTE format('CREATE TABLE %I PARTITION OF ended_reservation FOR VALUES FROM (%L) TO (%L)',
                        'ended_reservation' || to_char(v_today - v_ago, '_YYYYMMDD'), first_id_of(v_today - v_ago),
                        first_id_of(v_today - v_ago + 1));
       END LOOP;
     END
     $$`,
  );
}

/** Requests at the time of the oldest one that were not charged, so that they count in no balance and no window. */
async function insertReleased(pool: Pool, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO ended_reservation (id, organization_id, key_id, state, amount_micro, uncollected_micro, created_at, ended_at,
                                    is_job)
     SELECT (left(r.id::text, 18) || substr(gen_random_uuid()::text, 19))::uuid, r.organization_id, gen_random_uuid(),
            'released', (random() * 1e9)::bigint, 0, r.created_at, r.ended_at + random() * interval '1 second', false
       FROM (SELECT * FROM ended_reservation ORDER BY id LIMIT 1) r, generate_series(1, $1)`,
    [count],
  );
  await pool.query('ANALYZE ended_reservation');
}

/** `YYYY-MM-DD`, so many days before today by the database's clock. */
export async function dayBefore(pool: Pool, days: number): Promise<string> {
  const { rows } = await pool.query<{ day: string }>(
    `SELECT ((clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer)::text AS day`,
    [days],
  );
  return rows[0]?.day ?? '';
}

export interface DayState {
  readonly day: string;
  readonly is_exported: boolean;
  readonly is_removed: boolean;
  /** That are in the database. */
  readonly requests: number;
}

/** Of the days older than the retention, oldest first. */
export async function readDayStates(pool: Pool): Promise<DayState[]> {
  const { rows } = await pool.query<DayState>(
    `SELECT d.day::text AS day, a.exported_at IS NOT NULL AS is_exported, a.removed_at IS NOT NULL AS is_removed,
            (SELECT count(*) FROM ended_reservation r WHERE r.id BETWEEN first_id_of(d.day) AND last_id_of(d.day))::integer AS requests
       FROM ledger_day d LEFT JOIN ledger_archive a USING (day)
      WHERE d.day < (clock_timestamp() AT TIME ZONE 'UTC')::date - ${RETENTION_DAYS} ORDER BY 1`,
  );
  return rows;
}

/** SQL that inserts a row of a request that was never made, at the begin of a day; its charge is nowhere else. */
export const INSERT_ALONE = {
  job: (day: string) => `
    INSERT INTO media_job (id, organization_id, key_id, kind, model, status, estimated_cost_micro, max_cost_micro, params, settings,
                           route, metadata, next_run_at, created_at, expires_at, completed_at)
    SELECT first_id_of('${day}'), organization_id, key_id, 'video', 'm', 'canceled', 9, 9, '{}', '{}', '{}', '{}', now(),
           '${day}', '${day}', '${day}'
      FROM ended_reservation ORDER BY id LIMIT 1`,
  receipt: (day: string) => `
    INSERT INTO usage_record (id, organization_id, key_id, operation, model, status, streamed, usage_estimated, attempts,
                              hold_micro, charged_micro, uncollected_micro, total_ms, created_at, input_text,
                              input_cache_read, input_cache_write_5m, input_cache_write_1h, input_image, input_audio,
                              output_text, output_reasoning, output_image, output_audio, images, characters, seconds)
    SELECT first_id_of('${day}'), organization_id, key_id, 'createChatCompletion', 'm', 200, false, false, 1, 9, 9, 0, 1,
           '${day}', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
      FROM ended_reservation ORDER BY id LIMIT 1`,
};
