import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/** Closed days that have left the database: where they are, and what was verified there. */
export class LedgerArchive1797400000000 implements Migration {
  readonly name = 'LedgerArchive1797400000000';
  readonly routines = '06046cc4e28de748';

  async up(runner: QueryRunner): Promise<void> {
    // Until `exported_at` a row is only the claim of the process that exports the day. `removed_at`: its rows are gone.
    // `content_digest`: SHA-256 of the lines before compression. `last_entry_id`: the last entry of
    // the ledger that belongs to the day, or 0.
    await runner.query(`
      CREATE TABLE ledger_archive (
        day date NOT NULL,
        claimed_by text NOT NULL,
        claimed_until timestamptz NOT NULL,
        object_key text,
        size_bytes bigint,
        content_digest bytea,
        reservation_count bigint,
        charge_count bigint,
        charged_micro bigint,
        uncollected_micro bigint,
        checksum numeric,
        last_entry_id bigint,
        exported_at timestamptz,
        digest bytea,
        removed_at timestamptz,
        CONSTRAINT ledger_archive_pkey PRIMARY KEY (day),
        CONSTRAINT ledger_archive_exported_check CHECK (
          num_nulls(object_key, size_bytes, content_digest, reservation_count, charge_count, charged_micro,
                    uncollected_micro, checksum, last_entry_id, exported_at, digest) IN (0, 11)
          AND (removed_at IS NULL OR exported_at IS NOT NULL)
        )
      )`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations only go forward. Write another one, or restore a backup.');
  }
}
