import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/**
 * Receipts by the day of their id (src/core/partitions): the table becomes the first partition, of the time up to today. Its new
 * primary key can be built before the upgrade, while requests run:
 * `CREATE UNIQUE INDEX CONCURRENTLY usage_record_past_id_index ON usage_record (organization_id, id)`.
 */
export class ReceiptsByDay1797140000000 implements Migration {
  readonly name = 'ReceiptsByDay1797140000000';
  readonly routines = '3f8f81ef235be79d';

  async up(runner: QueryRunner): Promise<void> {
    // Its columns are those of the table as it was; all of them are created again.
    await runner.query('DROP VIEW IF EXISTS record_violations');
    await runner.query('DROP FUNCTION IF EXISTS usage_record_digest(usage_record)');
    await runner.query('DROP TRIGGER IF EXISTS usage_record_is_sealed ON usage_record');
    await runner.query('DROP TRIGGER IF EXISTS usage_record_is_counted ON usage_record');

    await runner.query('ALTER TABLE usage_record RENAME TO usage_record_past');
    await runner.query(`ALTER INDEX usage_record_organization_time_index
                          RENAME TO usage_record_past_organization_id_created_at_idx`);
    await runner.query(`CREATE UNIQUE INDEX IF NOT EXISTS usage_record_past_id_index
                          ON usage_record_past (organization_id, id)`);
    await runner.query('ALTER TABLE usage_record_past DROP CONSTRAINT usage_record_pkey');
    await runner.query(`ALTER TABLE usage_record_past
                          ADD CONSTRAINT usage_record_past_pkey PRIMARY KEY USING INDEX usage_record_past_id_index`);

    await runner.query(`
      CREATE TABLE usage_record (
        LIKE usage_record_past INCLUDING DEFAULTS INCLUDING STORAGE,
        CONSTRAINT usage_record_pkey PRIMARY KEY (organization_id, id)
      ) PARTITION BY RANGE (id)`);
    await runner.query(
      'CREATE INDEX usage_record_organization_time_index ON usage_record (organization_id, created_at)',
    );
    await runner.query(`
      DO $$
      DECLARE
        -- After the latest receipt, should the clock of a process be ahead.
        v_day date := GREATEST(
          (clock_timestamp() AT TIME ZONE 'UTC')::date,
          (SELECT DATE '1970-01-01' + (('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 86400000)::integer
             FROM usage_record_past ORDER BY id DESC LIMIT 1)) + 1;
        v_first text := 'MINVALUE';
        v_end text;
        v_name text := 'usage_record_past';
      BEGIN
        FOR v_ahead IN 0..7 LOOP
          v_end := quote_literal(lpad(to_hex((v_day + v_ahead - DATE '1970-01-01') * 86400000::bigint), 12, '0')
                                 || '00000000000000000000');
          IF v_ahead = 0 THEN
            EXECUTE format('ALTER TABLE usage_record ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', v_name, v_first, v_end);
          ELSE
            EXECUTE format('CREATE TABLE %I PARTITION OF usage_record FOR VALUES FROM (%s) TO (%s)', v_name, v_first, v_end);
          END IF;
          v_name := 'usage_record' || to_char(v_day + v_ahead, '_YYYYMMDD');
          v_first := v_end;
        END LOOP;
        EXECUTE format('CREATE TABLE %I PARTITION OF usage_record FOR VALUES FROM (%s) TO (MAXVALUE)', v_name, v_first);
      END
      $$`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
