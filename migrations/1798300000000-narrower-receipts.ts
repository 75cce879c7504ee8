import type { QueryRunner } from 'typeorm';
import type { Migration } from '../src/core/database/migration-files';

/**
 * Receipts take 58 bytes less of the table and of the WAL: ids of deployment and price version are `uuid`, in columns
 * beside those of older receipts, and an uncollected amount and seconds of 0 are NULL. `money_reserve` updates windows
 * instead of upserting them.
 */
export class NarrowerReceipts1798300000000 implements Migration {
  readonly name = 'NarrowerReceipts1798300000000';
  readonly routines = 'e3d87ddcc9cd0ab7';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE usage_record
        ADD COLUMN price_version_uuid uuid,
        ADD COLUMN deployment_uuid uuid,
        ALTER COLUMN uncollected_micro DROP NOT NULL,
        ALTER COLUMN seconds DROP NOT NULL`);
  }

  async down(): Promise<void> {
    throw new Error('Receipts that need the new columns exist. Restore a backup instead.');
  }
}
