import type { DataSource } from 'typeorm';
import { createDataSource } from '../../../src/core/database/data-source';
import { runMigrations } from '../../../src/core/database/run-migrations';
import { createEmptyTestDatabase, type TestDatabase } from '../../harness/database';
import { createBaselineTables } from './baseline-tables';

/**
 * All but `ended_reservation`, where the id comes first (src/billing/README.md), and the days of the ledger, which all
 * share.
 */
const TABLES = [
  'organization_account',
  'spend_window',
  'hold',
  'ledger_posting',
  'usage_record',
  'usage_delta',
  'usage_by_model',
  'usage_by_key',
  'idempotency_record',
  'idempotency_body',
  'idempotency_seal',
  'idempotency_storage',
  'media_job',
  'media_artifact',
  'webhook_delivery',
  'webhook_attempt',
];

const [ORGANIZATION, KEY, JOB, DELIVERY, REQUEST] = [1, 2, 3, 4, 5].map(
  (n) => `00000000-0000-7000-8000-00000000000${n}`,
);

/** Rows as the first release wrote them, and what a view of it needs of a primary key. */
const ROWS = `
  CREATE VIEW money_violations AS SELECT id, status FROM media_job GROUP BY id;
  INSERT INTO organization (id, name) VALUES ('${ORGANIZATION}', 'old');
  INSERT INTO api_key (id, organization_id, name, digest, prefix, last4)
  VALUES ('${KEY}', '${ORGANIZATION}', 'k', decode(repeat('00', 32), 'hex'), 'sk', 'abcd');
  INSERT INTO spend_window (scope, scope_id, window_start, spent_micro)
  VALUES (1, '${ORGANIZATION}', '2026-11-01', 1), (2, '${KEY}', '2026-11-02', 2), (3, '${KEY}', '2026-11-01', 3);
  INSERT INTO idempotency_record (organization_id, operation, key, fingerprint, reservation_id)
  VALUES ('${ORGANIZATION}', 'o', 'k', decode(repeat('00', 32), 'hex'), '${REQUEST}');
  INSERT INTO idempotency_seal (reservation_id, expires_at, digest) VALUES ('${REQUEST}', now(), ''), ('${JOB}', now(), '');
  INSERT INTO media_job (id, organization_id, key_id, kind, model, status, started_at, completed_at, estimated_cost_micro,
                         max_cost_micro, params, settings, route, metadata, next_run_at, created_at, expires_at)
  VALUES ('${JOB}', '${ORGANIZATION}', '${KEY}', 'video', 'm', 'succeeded', now(), now(), 9, 9, '{}', '{}', '{}', '{}', now(), now(), now());
  INSERT INTO media_artifact (job_id, position, type, content_type, size_bytes, duration_seconds, storage_key, created_at)
  VALUES ('${JOB}', 0, 'video', 'video/mp4', 1, 1, 'key', now());
  INSERT INTO webhook_delivery (id, job_id, organization_id, event, url, target_host, next_at, created_at)
  VALUES ('${DELIVERY}', '${JOB}', '${ORGANIZATION}', 'job.completed', 'https://a.example', 'a.example', now(), now());
  INSERT INTO webhook_attempt (delivery_id, number, started_at, status, duration_ms) VALUES ('${DELIVERY}', 1, now(), 200, 7)`;

const ORGANIZATIONS = `
  SELECT 'window ' || scope || ' ' || spent_micro AS row, organization_id FROM spend_window
  UNION ALL SELECT 'seal ' || reservation_id, organization_id FROM idempotency_seal
  UNION ALL SELECT 'artifact ' || position, organization_id FROM media_artifact
  UNION ALL SELECT 'attempt ' || number, organization_id FROM webhook_attempt
  ORDER BY 1`;

describe('the organization in every key', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  beforeEach(async () => {
    database = await createEmptyTestDatabase();
    dataSource = await createDataSource({ url: database.url, poolSize: 2, statementTimeoutMs: 0 }).initialize();
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it('comes first in every primary key and unique index of money, usage, idempotency, jobs and webhooks', async () => {
    await runMigrations(database.url);
    const keys: { table: string; index: string; first: string }[] = await dataSource.query(
      `SELECT t.relname AS table, x.relname AS index, a.attname AS first
         FROM pg_index i
         JOIN pg_class t ON t.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
         JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0]
        WHERE i.indisunique AND t.relname = ANY ($1)`,
      [TABLES],
    );
    expect(new Set(keys.map(({ table }) => table))).toEqual(new Set(TABLES));
    expect(keys.filter(({ first }) => first !== 'organization_id')).toEqual([]);
  });

  it('is that of the key, the record, the job and the delivery in rows from before', async () => {
    await createBaselineTables(dataSource);
    await dataSource.query(ROWS);
    await runMigrations(database.url);
    const unknown = '00000000-0000-0000-0000-000000000000';
    expect(await dataSource.query(ORGANIZATIONS)).toEqual([
      { row: 'artifact 0', organization_id: ORGANIZATION },
      { row: 'attempt 1', organization_id: ORGANIZATION },
      // Its record is gone.
      { row: `seal ${JOB}`, organization_id: unknown },
      { row: `seal ${REQUEST}`, organization_id: ORGANIZATION },
      { row: 'window 1 1', organization_id: ORGANIZATION },
      { row: 'window 2 2', organization_id: ORGANIZATION },
      { row: 'window 3 3', organization_id: ORGANIZATION },
    ]);
  });
});
